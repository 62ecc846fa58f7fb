const WIDTH = 120
/** A line that begins with one of these would be another block. */
const MARKER = /^(?:[-*+>|]|#{1,6}|\d+[.)])$/
const KEPT = /^(?:\s*\||#|<!--)/
/** Links and code stay on one line. */
const WORDS = /(?:\[[^\]]*\]\([^)]*\)|`[^`]*`|\S)+/g

/**
 * Markdown whose prose has lines of at most 120 characters. Code, tables, headings and comments stay as they are.
 *
 * @example wrapMarkdown(commandsPage(commands))
 */
export const wrapMarkdown = (text: string): string =>
  text
    .split(/(```[\s\S]*?```)/)
    .map((part) => (part.startsWith('```') ? part : part.split('\n').map(wrapLine).join('\n')))
    .join('')

function wrapLine(line: string): string {
  if (line.length <= WIDTH || KEPT.test(line)) return line
  const lead = /^ *(?:[-*] |\d+\. )?/.exec(line)?.[0] ?? ''
  const indent = ' '.repeat(lead.length)
  const lines: string[] = []
  let open = ''
  for (const word of line.slice(lead.length).match(WORDS) ?? []) {
    const isFull = open !== '' && `${indent}${open} ${word}`.length > WIDTH
    if (isFull && !MARKER.test(word)) lines.push(open)
    open = open === '' || (isFull && !MARKER.test(word)) ? word : `${open} ${word}`
  }
  return lead + [...lines, open].join(`\n${indent}`)
}
