import { LIMITS } from '../../../contracts/limits.ts'

/** Words that questions are made of and that tell nothing about what is asked. */
const STOP_WORDS: ReadonlySet<string> = new Set(
  `a about actually almost already although again against all also alright am an and any anymore anybody anyone anything are as ask asked asking at available be because been before being between but by came
  bit can cannot cant come comes could couldnt d define didnt did do does doesnt doing don done dont else especially even ever every exactly explain find for from get gets getting give given go goes going got
  had happen happens hasnt has have havent hello hey hi having he help her here hers him his how however i if im in into is isnt it its ive just know let like ll m make makes making may me
  mean meaning means might mine my need needs now of off on once one only ok okay or other our ours out over own pls please possible put
  re really s shall she should show simply so some somebody someone something such supported sure t tell than thank thanks that thats the their them then
  there these they thing things though this those thru to today too try u under until up ur us use used using ve very want wants was way we
  well went were what whatever when where whether which while who whom whose whats why will wont wouldnt with within without would yesterday yet you youre
  your yours`.split(/\s+/),
)

/** Talk around a question: to whom it matters, how urgent it is, and thanks for the answer. */
const AROUND_WORDS: ReadonlySet<string> = new Set(
  `anyway apologies appreciate appreciated asap assume assuming basically boss btw clarify clear colleague confused confusing correctly curious currently dear
  dunno evening exact figure folks fwiw gonna guess guys hear heard hmm honest honestly hope hoping hows idea imagine imho interested kind kinda kindly lol looking lot
  maybe mentioned morning nope particular particularly people perhaps person presumably question questions quick quickly quite rather regarding roughly saw say saying
  seem seems sense sort sorry specific specifically stuff suppose supposed suspect tbh team tell theres thinking tldr told trying understand understood unsure useful
  wait wanna wheres whos wish wonder wondering worried yeah yep`.split(/\s+/),
)

/** Two words that are one, and of which one alone means something else or nothing. */
const TWO_IN_ONE = /\b(?:e|log|sign|set|top|back|white)[ -](?=(?:mails?|in|up|label|list)\b)/gi

/** A text as it is indexed and looked for: one spelling of what some write in one word and some in two. */
export const respelt = (text: string): string => text.replaceAll(TWO_IN_ONE, (word) => word.slice(0, -1))

/** The search terms of a text. */
export interface QueryTerms {
  /** Each once, in lower case, without those that tell nothing unless there are no others. */
  readonly words: readonly string[]
  /** Names of several words, such as `get_trade_call`: where they stand together is better. */
  readonly names: readonly string[]
}

const WORD = /[\p{L}\p{N}]+/gu
const NAME = /[\p{L}\p{N}]+(?:[_./-][\p{L}\p{N}]+)+/gu

/**
 * The words of a query. Marks of every kind end words, so nothing that a caller writes is read as an operator.
 *
 * @example queryTerms('What is a "regime_shift"?').words // ['regime', 'shift']
 */
export function queryTerms(text: string): QueryTerms {
  const plain = respelt(text.normalize('NFKC')).toLowerCase().replaceAll(/['’]/g, ' ')
  const all = unique(plain.match(WORD) ?? [])
  const telling = all.filter((word) => !isStopWord(word))
  const words = telling.length > 0 ? telling : all
  return {
    words: words.slice(0, LIMITS.searchTerms),
    names: unique(plain.match(NAME) ?? []).slice(0, LIMITS.searchTerms),
  }
}

/** Whether a word tells nothing about what is asked. */
export const isStopWord = (word: string): boolean => STOP_WORDS.has(word) || AROUND_WORDS.has(word)

/** Whether there is anything in a text that could be looked for. */
export const hasWord = (text: string): boolean => /[\p{L}\p{N}]/u.test(text)

const unique = (words: readonly string[]): string[] => [...new Set(words)]

/** Whether two words are forms of one, as far as an ending of two letters goes. */
export function isFormOf(a: string, b: string): boolean {
  const [short, long] = a.length < b.length ? [a, b] : [b, a]
  return a === b || (short.length >= 4 && long.length - short.length <= 2 && long.startsWith(short))
}
