import { LIMITS } from '../../../contracts/limits.ts'

/** Words that questions are made of and that tell nothing about what is asked. */
const STOP_WORDS: ReadonlySet<string> = new Set(
  `a about actually almost already although again against all also alright am an and any anymore anybody anyone anything are as ask asked asking at available be because been before being between but by came
  bit can cannot cant come comes could couldnt d define didnt did do does doesnt doing don done dont else especially even ever every exactly explain find for from get gets getting give given go goes going got
  had happen happens hasnt has have havent hello hey hi having he help her here hers him his how however i if im in into is isnt it its ive just know let like ll m make makes making may me
  mean meaning means might mine my need needs now of off on once one only ok okay or other our ours out over own pls please possible put
  re really s shall she should show simply so some somebody someone something such supported sure t tell than thank thanks that thats the their them then
  there these they thing things though this those thru to today too try u under until up ur us use used using ve very want wants was way we
  well went were what when where whether which while who whom whose whats why will wont wouldnt with within without would yesterday yet you youre
  your yours`.split(/\s+/),
)

const WORD = /[\p{L}\p{N}]+/gu

/**
 * The words of a query: each once, in lower case, without those that tell nothing unless there are no others. Marks of
 * every kind end words, so nothing that a caller writes is read as an operator.
 *
 * @example queryWords('What is a "regime_shift"?') // ['regime', 'shift']
 */
export function queryWords(text: string): readonly string[] {
  const plain = text.normalize('NFKC').toLowerCase().replaceAll(/['’]/g, ' ')
  const all = [...new Set(plain.match(WORD))]
  const telling = all.filter((word) => !isStopWord(word))
  return (telling.length > 0 ? telling : all).slice(0, LIMITS.searchTerms)
}

/** Whether a word tells nothing about what is asked. */
export const isStopWord = (word: string): boolean => STOP_WORDS.has(word)

/** Whether there is anything in a text that could be looked for. */
export const hasWord = (text: string): boolean => /[\p{L}\p{N}]/u.test(text)

/** Whether two words are forms of one, as far as an ending of two letters goes. */
export function isFormOf(a: string, b: string): boolean {
  const [short, long] = a.length < b.length ? [a, b] : [b, a]
  return a === b || (short.length >= 4 && long.length - short.length <= 2 && long.startsWith(short))
}
