"""What looks like a secret is masked, and what does not is kept."""

from __future__ import annotations

import pytest

from playhead.capture.secrets import MASK, is_secret_name, mask_arguments, mask_text, public_address


@pytest.mark.parametrize(
    "option",
    ["token", "hf-token", "secret", "password", "passwd", "api-key", "api_key", "apikey", "auth", "access-key", "pwd"],
)
def test_the_value_of_a_secret_option_is_masked_in_both_forms(option):
    assert mask_arguments(["train.py", f"--{option}", "hunter2", "--lr", "0.1"]) == [
        "train.py",
        f"--{option}",
        MASK,
        "--lr",
        "0.1",
    ]
    assert mask_arguments([f"--{option}=hunter2", "--lr=0.1"]) == [f"--{option}={MASK}", "--lr=0.1"]


@pytest.mark.parametrize(
    "argument",
    [
        "logger.api_key=hunter2",
        "+db.password=hunter2",
        "Authorization: Bearer hunter2",
        "--header=Authorization: Bearer hunter2",
        '{"lr": 0.1, "api_key": "hunter2"}',
        "env={TOKEN: hunter2}",
        "MY_SECRET_KEY=hunter2",
        "-Dauth.token=hunter2",
        "postgresql://me:hunter2@db.example/runs",
        "--store=https://hunter2@store.example/x",
        "--token=two words hunter2",
        "--token=two\nlines hunter2",
    ],
)
def test_a_secret_inside_an_argument_is_masked(argument):
    (masked,) = mask_arguments([argument])
    assert "hunter2" not in masked
    assert MASK in masked


@pytest.mark.parametrize("beginning", ["ghp_", "hf_", "sk-", "github_pat_"])
def test_a_known_form_of_token_is_masked_under_any_name(beginning):
    assert mask_arguments(["--value", beginning + "a1B2" * 8]) == ["--value", MASK]


@pytest.mark.parametrize(
    "arguments",
    [
        ["--tokenizer", "gpt2"],
        ["--tokenizer=gpt2"],
        ["--max-tokens", "512"],
        ["--max_tokens=4096"],
        ["--author", "ada"],
        ["--authors=ada,bob"],
        ["--keyframes", "10"],
        ["--monkey", "3"],
        ["--data", "s3://bucket/data"],
        ["--use-auth", "--lr", "0.1"],
        ["--use-auth", "-v"],
        ["train.py", "token", "x"],
    ],
)
def test_an_innocent_argument_is_kept(arguments):
    assert mask_arguments(arguments) == arguments


def test_a_secret_that_begins_with_a_dash_is_masked_too():
    assert mask_arguments(["--token", "-abcdef"]) == ["--token", MASK]


def test_a_text_loses_only_the_user_of_an_address():
    assert mask_text("tcp://user:pw@10.0.0.1:29500") == f"tcp://{MASK}@10.0.0.1:29500"


@pytest.mark.parametrize(
    ("address", "public"),
    [
        ("https://user:pw@github.com/a/b.git", "https://github.com/a/b.git"),
        ("https://token@github.com/a/b.git", "https://github.com/a/b.git"),
        ("https://u:p@ss@github.com/a/b.git", "https://github.com/a/b.git"),
        ("https://host/a/b.git?private_token=x", "https://host/a/b.git"),
        ("ssh://git:pw@host:22/a", "ssh://host:22/a"),
        ("https://host/@scope/b", "https://host/@scope/b"),
        ("git@github.com:a/b.git", "git@github.com:a/b.git"),
        ("../elsewhere", "../elsewhere"),
    ],
)
def test_an_address_is_given_without_credentials(address, public):
    assert public_address(address) == public


def test_names_of_secrets_are_recognised_whatever_their_case():
    assert is_secret_name("AWS_SECRET_ACCESS_KEY")
    assert is_secret_name("WandbApiKey")
    assert not is_secret_name("OMP_NUM_THREADS")
