import { LIMITS } from '../../contracts/limits.ts'
import { shortened } from './excerpt.ts'
import { NO_ANSWER } from './llm.ts'
import { blockText } from './markdown.ts'
import type { Section } from './sections.ts'

/** An answer that cites the passages, a statement that there is none, or neither. */
export type CheckedCompletion =
  | { readonly kind: 'answer'; readonly answer: string; readonly sections: readonly Section[] }
  | { readonly kind: 'not said' }
  | { readonly kind: 'unusable'; readonly reason: string }

const MARK = /\[(\d{1,4})\]/g
/** Addresses of every kind: schemes, mail and handles, hosts, IP addresses, wallets. */
const ADDRESS = new RegExp(
  [
    String.raw`\b[a-z][a-z\d+.-]*:(?=[^\s\d])[^\s<>"'${'`'})\]]+`,
    String.raw`[\p{L}\d._%+-]*@[\p{L}\d_][\p{L}\d._-]*`,
    String.raw`(?<![\p{L}\d])(?:[\p{L}\d_-]+\.)+(?:xn--[a-z\d-]+|\p{L}{2,})(?:[:/?#][^\s<>"'${'`'})\]]*)?`,
    String.raw`\b\d{1,3}(?:\.\d{1,3}){3}\b`,
    String.raw`[\da-f]{0,4}(?::[\da-f]{0,4}){3,}`,
    String.raw`\b0x[\da-f]{8,}\b`,
    String.raw`\b(?=[a-z]*\d)[a-z\d]{25,}\b`,
  ].join('|'),
  'giu',
)

/**
 * Trusts nothing that a model wrote, because a passage or a question may contain instructions. Only citations of its
 * passages stay, and an answer needs one; HTML, control characters and addresses that no passage has are replaced.
 *
 * @param sections the model's passages, in the order of their numbers
 */
export function checkCompletion(text: string, sections: readonly Section[]): CheckedCompletion {
  if (text.trim().replace(/\.$/, '') === NO_ANSWER) return { kind: 'not said' }
  const plain = neutralised(text, sections)
  const numbers = [...plain.matchAll(MARK)].map(([, digits]) => Number(digits))
  const cited = [...new Set(numbers)].filter((number) => number >= 1 && number <= sections.length)
  if (cited.length === 0) {
    return { kind: 'unusable', reason: 'the model cited none of its passages' }
  }
  const renumbered = plain.replaceAll(/( ?)\[(\d{1,4})\]/g, (_mark, blank: string, digits: string) => {
    const at = cited.indexOf(Number(digits))
    return at === -1 ? '' : `${blank}[${at + 1}]`
  })
  const answer = shortened(renumbered.trim(), LIMITS.chatAnswerCharacters)
  if (answer.replaceAll(MARK, '').trim() === '')
    return { kind: 'unusable', reason: 'the model’s answer was empty' }
  return { kind: 'answer', answer, sections: cited.flatMap((number) => sections[number - 1] ?? []) }
}

function neutralised(text: string, sections: readonly Section[]): string {
  const known = sections.flatMap(({ blocks }) => blocks.map(blockText)).join('\n')
  return (
    text
      .toWellFormed()
      .normalize('NFC')
      // Control and format characters, which reorder or hide text, except line ends.
      .replaceAll(/(?!\n)[\p{Cc}\p{Cf}\u2028\u2029]/gu, ' ')
      .replaceAll(ADDRESS, (address) => (known.includes(address) ? address : '(address left out)'))
      .replaceAll('<', '‹')
      .replaceAll('>', '›')
      .replaceAll(/[^\S\n]+/g, ' ')
      .replaceAll(/\n{3,}/g, '\n\n')
  )
}
