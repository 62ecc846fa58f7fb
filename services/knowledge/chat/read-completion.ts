import { LIMITS } from '../../../contracts/limits.ts'
import { blockText } from '../corpus/block-text.ts'
import { type Found, shortened } from '../search/find-sections.ts'
import type { DraftAnswer } from './extractive-answer.ts'
import { NO_ANSWER } from './openai-model.ts'

/** A completion as read: an answer that cites the given passages, a statement that there is none, or neither. */
export type ReadCompletion =
  | ({ readonly kind: 'answer' } & DraftAnswer)
  | { readonly kind: 'not said' }
  | { readonly kind: 'unusable'; readonly reason: string }

const MARK = /\[(\d{1,4})\]/g
/** All that leads somewhere else: other schemes, mail and handles, hosts, IP addresses, and addresses of chains. */
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
 * Takes nothing that a model wrote on trust. Only citations of passages that it was given stay, and without any there
 * is no answer; marks of HTML and control characters are replaced, and so are addresses that the passages do not have:
 * a passage or a question may have talked the model into anything.
 *
 * @param sections what the model was given, in the order of their numbers
 */
export function readCompletion(text: string, sections: readonly Found[]): ReadCompletion {
  if (text.trim().replace(/\.$/, '') === NO_ANSWER) return { kind: 'not said' }
  const plain = neutralised(text, sections)
  const numbers = [...plain.matchAll(MARK)].map(([, digits]) => Number(digits))
  const cited = [...new Set(numbers)].filter((number) => number >= 1 && number <= sections.length)
  if (cited.length === 0) {
    return { kind: 'unusable', reason: 'the model cited nothing of what it was given' }
  }
  const renumbered = plain.replaceAll(/( ?)\[(\d{1,4})\]/g, (_mark, blank: string, digits: string) => {
    const place = cited.indexOf(Number(digits))
    return place === -1 ? '' : `${blank}[${place + 1}]`
  })
  const answer = shortened(renumbered.trim(), LIMITS.chatAnswerCharacters)
  if (answer.replaceAll(MARK, '').trim() === '')
    return { kind: 'unusable', reason: 'the model answered with nothing' }
  return { kind: 'answer', answer, sections: cited.flatMap((number) => sections[number - 1] ?? []) }
}

function neutralised(text: string, sections: readonly Found[]): string {
  const known = sections.flatMap(({ section: { blocks } }) => blocks.map(blockText)).join('\n')
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
