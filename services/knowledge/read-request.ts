import { type ErrorCode, ServiceError } from '../../contracts/errors/errors.ts'
import { LIMITS } from '../../contracts/limits.ts'
import {
  type ChatRequest,
  chatKnowledgeRequest,
  type SearchRequest,
  searchKnowledgeRequest,
} from '../../contracts/tools/free-tools.ts'
import { asMeant } from '../../contracts/tools/tool-arguments.ts'

const DEFAULT_ROWS = 10

/** The codes that a text is refused with. */
interface TextCodes {
  readonly invalid: ErrorCode
  readonly short: ErrorCode
  readonly long: ErrorCode
}

const QUERY: TextCodes = { invalid: 'INVALID_QUERY', short: 'QUERY_TOO_SHORT', long: 'QUERY_TOO_LONG' }
const QUESTION: TextCodes = {
  invalid: 'INVALID_QUESTION',
  short: 'QUESTION_TOO_SHORT',
  long: 'QUESTION_TOO_LONG',
}

/**
 * Reads a search request.
 *
 * @throws ServiceError `INVALID_QUERY`, `QUERY_TOO_SHORT`, `QUERY_TOO_LONG`
 * @example readSearchRequest({ query: ' quota ' }) // { query: 'quota', limit: 10 }
 */
export function readSearchRequest(request: unknown): SearchRequest {
  const fields = fieldsOf(asMeant(searchKnowledgeRequest, request), ['query', 'limit'], QUERY.invalid)
  const query = readText(fields.query, 'query', QUERY, LIMITS.searchCharactersLeast, LIMITS.searchCharacters)
  const { limit = DEFAULT_ROWS } = fields
  if (typeof limit !== 'number' || !Number.isInteger(limit) || limit < 1 || limit > LIMITS.searchRows) {
    throw new ServiceError(QUERY.invalid, {
      message: `limit: must be a whole number from 1 to ${LIMITS.searchRows}, not ${shown(limit)}.`,
      details: { field: 'limit' },
    })
  }
  return { query, limit }
}

/**
 * Reads a chat request.
 *
 * @param models their names, the default first
 * @throws ServiceError `INVALID_QUESTION`, `QUESTION_TOO_SHORT`, `QUESTION_TOO_LONG`, `INVALID_MODEL` with the list
 */
export function readChatRequest(request: unknown, models: readonly string[]): ChatRequest {
  const fields = fieldsOf(asMeant(chatKnowledgeRequest, request), ['question', 'model'], QUESTION.invalid)
  const question = readText(
    fields.question,
    'question',
    QUESTION,
    LIMITS.questionCharactersLeast,
    LIMITS.questionCharacters,
  )
  const { model = models[0] } = fields
  if (typeof model !== 'string' || !models.includes(model)) {
    throw new ServiceError('INVALID_MODEL', {
      message: `model: there is no model ${shown(model)}; there ${models.length === 1 ? 'is' : 'are'} ${models.join(', ')}.`,
      details: { field: 'model', available: [...models] },
    })
  }
  return { question, model }
}

/** A misspelt field must not pass for none. */
function fieldsOf(
  request: unknown,
  names: readonly string[],
  code: ErrorCode,
): Readonly<Record<string, unknown>> {
  if (typeof request !== 'object' || request === null || Array.isArray(request)) {
    throw new ServiceError(code, { message: `The body must be an object, not ${shown(request)}.` })
  }
  const unknown = Object.keys(request).find((name) => !names.includes(name))
  if (unknown !== undefined) {
    throw new ServiceError(code, {
      message: `There is no field ${shown(unknown)}; there are ${names.join(' and ')}.`,
    })
  }
  return request as Readonly<Record<string, unknown>>
}

/** Characters are code points, without blanks around the text. */
function readText(value: unknown, field: string, codes: TextCodes, least: number, most: number): string {
  const refuse = (code: ErrorCode, problem: string): never => {
    throw new ServiceError(code, { message: `${field}: ${problem}.`, details: { field } })
  }
  if (value === undefined) return refuse(codes.invalid, 'is missing')
  if (typeof value !== 'string') return refuse(codes.invalid, `must be text, not ${shown(value)}`)
  const text = value.trim()
  const length = lengthOf(text, most)
  if (length > most) return refuse(codes.long, `has ${value.length} characters, at most ${most} are read`)
  if (length < least) return refuse(codes.short, `has ${length} characters, at least ${least} are needed`)
  if (!text.isWellFormed()) return refuse(codes.invalid, 'has half a character (a lone surrogate) in it')
  if (CONTROL.test(text)) return refuse(codes.invalid, 'has control characters in it')
  if (!/[\p{L}\p{N}]/u.test(text)) return refuse(codes.invalid, 'has no letter and no digit in it')
  return text
}

/** Code points; of a text far beyond the limit its length will do. */
const lengthOf = (text: string, most: number): number =>
  text.length > 2 * most ? text.length : Array.from(text).length

/** Other than tabs and line ends, which are blanks. */
const CONTROL = /(?![\t\n\r])\p{Cc}/u

/** A value in a refusal: short, and in one line. */
function shown(value: unknown): string {
  if (Array.isArray(value)) return 'a list'
  if (typeof value === 'object' && value !== null) return 'an object'
  if (typeof value !== 'string') return String(value)
  return JSON.stringify(value.slice(0, LIMITS.nameCharacters).toWellFormed())
}
