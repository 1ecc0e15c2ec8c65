"""Only variables on the list are noted."""

from __future__ import annotations

from playhead.capture import secrets, variables


def test_names_and_prefixes_on_the_list_are_kept_and_sorted():
    found = variables.allowed({"WORLD_SIZE": "8", "CUDA_VISIBLE_DEVICES": "0,1", "OMP_PROC_BIND": "true"})
    assert list(found.items()) == [("CUDA_VISIBLE_DEVICES", "0,1"), ("OMP_PROC_BIND", "true"), ("WORLD_SIZE", "8")]


def test_everything_else_is_left_out():
    assert variables.allowed({"AWS_SECRET_ACCESS_KEY": "x", "HOME": "/h", "SLURM_JWT": "x", "rank": "0"}) == {}


def test_an_allowed_prefix_does_not_let_a_secret_through():
    assert variables.allowed({"NCCL_AUTH_TOKEN": "x", "NCCL_DEBUG": "INFO"}) == {"NCCL_DEBUG": "INFO"}


def test_an_address_in_an_allowed_variable_loses_its_password():
    assert variables.allowed({"PYTHONPATH": "https://me:pw@host/x"}) == {"PYTHONPATH": "https://***@host/x"}


def test_no_name_on_the_list_reads_like_a_secret():
    assert [name for name in variables.NAMES if secrets.is_secret_name(name)] == []
