/** Every import in a file's text, static or dynamic, type or value. */
export function importsOf(text: string): string[] {
  const found = text.matchAll(/(?:\bfrom\s+|\bimport\s+|\bimport\(\s*)(['"])([^'"\n]+)\1/g)
  return [...found].map((match) => match[2] ?? '')
}
