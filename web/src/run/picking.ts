// Finding runs by a part of their name, in the where language.

/** Make a filter of what was typed: each word is part of the name, the project or the id. Null for nothing. */
export function whereNamed(text: string): string | null {
  const words = text.trim().split(/\s+/).filter(Boolean);
  if (words.length === 0) return null;
  return words
    .map((word) => {
      // There is no escape within quotes: a quote in a name is matched by any character.
      const pattern = `'%${word.replaceAll(/['"\\]/g, "_")}%'`;
      return `(name like ${pattern} or project like ${pattern} or id like ${pattern})`;
    })
    .join(" and ");
}
