import { LIMITS } from '../../../contracts/limits.ts'

/** Words that questions are made of and that tell nothing about what is asked. */
const STOP_WORDS: ReadonlySet<string> = new Set(
  `a about actually although again against all also am an and any anybody anyone anything are as ask asked asking at available be because been before being between but by came
  can cannot come comes could d define did difference different do does doing don done else ever every explain for from get gets getting give given go goes going got
  had happen happens has have having he help her here hers him his how however i if in into is it its just know let like ll m make makes making may me
  mean meaning means might mine my need needs now of off on once one only or other our ours out over own please possible put
  re really s shall she should show so some somebody someone something such supported sure t tell than that the their them then
  there these they thing things though this those to today too try under until up us use used using ve very want wants was way we
  well went were what whatever when where whether which while who whom whose why will with within without would yesterday you
  your yours`.split(/\s+/),
)

/** What a text is looked for by. */
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
  const plain = text.normalize('NFKC').toLowerCase().replaceAll(/['’]/g, ' ')
  const all = unique(plain.match(WORD) ?? [])
  const telling = all.filter((word) => !STOP_WORDS.has(word))
  const words = telling.length > 0 ? telling : all
  return {
    words: words.slice(0, LIMITS.searchTerms),
    names: unique(plain.match(NAME) ?? []).slice(0, LIMITS.searchTerms),
  }
}

/** Whether a word tells nothing about what is asked. */
export const isStopWord = (word: string): boolean => STOP_WORDS.has(word)

/** Whether there is anything in a text that could be looked for. */
export const hasWord = (text: string): boolean => /[\p{L}\p{N}]/u.test(text)

const unique = (words: readonly string[]): string[] => [...new Set(words)]
