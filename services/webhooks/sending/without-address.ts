/** Parts of an address that are shorter are words, as `hook` and `v1`, and no secrets. */
const SECRET_CHARACTERS = 8
/** So much of a secret at the end of a text that was cut there. */
const CUT_CHARACTERS = 4
const HIDDEN = '…'

/**
 * A text without what it repeats of the address it was asked at. Many servers answer `Cannot POST /hook/<token>`, and
 * what they answer is kept in the log, where the address itself stands sealed only.
 *
 * @param path path and query, as they were sent
 * @example withoutAddress('no /hook/abcdefgh12 here', '/hook/abcdefgh12') === 'no … here'
 */
export function withoutAddress(text: string, path: string): string {
  let shown = text
  for (const secret of secretsIn(path)) shown = withoutEnd(shown.replaceAll(secret, HIDDEN), secret)
  return shown
}

/** The longest first, since others are parts of it. */
function secretsIn(path: string): string[] {
  const parts = [path, ...path.split(/[/?&=#;]/)]
  const spellings = parts.flatMap((part) => [part, decoded(part)])
  return [...new Set(spellings)]
    .filter(({ length }) => length >= SECRET_CHARACTERS)
    .toSorted((a, b) => b.length - a.length)
}

function withoutEnd(text: string, secret: string): string {
  for (let length = secret.length - 1; length >= CUT_CHARACTERS; length--) {
    if (text.endsWith(secret.slice(0, length))) return `${text.slice(0, -length)}${HIDDEN}`
  }
  return text
}

function decoded(part: string): string {
  try {
    return decodeURIComponent(part)
  } catch (error) {
    if (error instanceof URIError) return part
    throw error
  }
}
