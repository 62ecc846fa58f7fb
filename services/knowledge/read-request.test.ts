import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { type ErrorCode, isServiceError } from '../../contracts/errors/errors.ts'
import { readChatRequest, readSearchRequest } from './read-request.ts'

const MODELS = ['gpt-5-mini', 'extractive']

/** The code that something is refused with. */
function codeOf(work: () => unknown): ErrorCode | undefined {
  try {
    work()
    return undefined
  } catch (error) {
    if (isServiceError(error)) return error.code
    throw error
  }
}

describe('a search', () => {
  test('has ten rows unless it says otherwise, and no blanks around its query', () => {
    expect(readSearchRequest({ query: '  quota\n' })).toEqual({ query: 'quota', limit: 10 })
    expect(readSearchRequest({ query: 'a b', limit: 50 })).toEqual({ query: 'a b', limit: 50 })
  })

  test('may be as long as the limit, in characters and not in units of its encoding', () => {
    const smiles = `a${'😀'.repeat(499)}`
    expect(readSearchRequest({ query: smiles }).query).toBe(smiles)
    expect(codeOf(() => readSearchRequest({ query: `${smiles}b` }))).toBe('QUERY_TOO_LONG')
  })

  test.each<[unknown, ErrorCode]>([
    [undefined, 'INVALID_QUERY'],
    [null, 'INVALID_QUERY'],
    ['quota', 'INVALID_QUERY'],
    [['quota'], 'INVALID_QUERY'],
    [{}, 'INVALID_QUERY'],
    [{ query: 7 }, 'INVALID_QUERY'],
    [{ query: null }, 'INVALID_QUERY'],
    [{ query: { $ne: '' } }, 'INVALID_QUERY'],
    [{ query: '' }, 'QUERY_TOO_SHORT'],
    [{ query: '     ' }, 'QUERY_TOO_SHORT'],
    [{ query: 'x' }, 'QUERY_TOO_SHORT'],
    [{ query: 'ab' }, 'QUERY_TOO_SHORT'],
    [{ query: 'a'.repeat(501) }, 'QUERY_TOO_LONG'],
    [{ query: 'a'.repeat(60_000) }, 'QUERY_TOO_LONG'],
    [{ query: '🚀🚀🚀' }, 'INVALID_QUERY'],
    [{ query: '*()"^' }, 'INVALID_QUERY'],
    [{ query: 'quota\u0000' }, 'INVALID_QUERY'],
    [{ query: 'quo\u001bta' }, 'INVALID_QUERY'],
    [{ query: 'quota \ud800' }, 'INVALID_QUERY'],
    [{ query: 'quota', limit: 0 }, 'INVALID_QUERY'],
    [{ query: 'quota', limit: 51 }, 'INVALID_QUERY'],
    [{ query: 'quota', limit: 1.5 }, 'INVALID_QUERY'],
    [{ query: 'quota', limit: 'ten' }, 'INVALID_QUERY'],
    [{ query: 'quota', limit: '99' }, 'INVALID_QUERY'],
    [{ query: 'quota', page: 2 }, 'INVALID_QUERY'],
  ])('like %j is refused with %s', (request, code) => {
    expect(codeOf(() => readSearchRequest(request))).toBe(code)
  })
})

test.each([{ limit: null }, { limit: '' }])('a search with %j is one without it', (unset) => {
  expect(readSearchRequest({ query: 'quota', ...unset })).toEqual(readSearchRequest({ query: 'quota' }))
})

test('the number of rows may be given as text', () => {
  expect(readSearchRequest({ query: 'quota', limit: '7' }).limit).toBe(7)
})

test.each([{ model: null }, { model: '' }])('a question with %j is one without it', (unset) => {
  const question = 'What is HOLD?'
  expect(readChatRequest({ question, ...unset }, MODELS)).toEqual(readChatRequest({ question }, MODELS))
})

describe('a question', () => {
  test('is answered by the first model unless it names another', () => {
    expect(readChatRequest({ question: ' What is HOLD? ' }, MODELS)).toEqual({
      question: 'What is HOLD?',
      model: 'gpt-5-mini',
    })
    expect(readChatRequest({ question: 'What is HOLD?', model: 'extractive' }, MODELS).model).toBe(
      'extractive',
    )
  })

  test.each<[unknown, ErrorCode]>([
    [[], 'INVALID_QUESTION'],
    [{}, 'INVALID_QUESTION'],
    [{ question: true }, 'INVALID_QUESTION'],
    [{ question: '' }, 'QUESTION_TOO_SHORT'],
    [{ question: '\n\t  ' }, 'QUESTION_TOO_SHORT'],
    [{ question: 'Why?' }, 'QUESTION_TOO_SHORT'],
    [{ question: '?'.repeat(501) }, 'QUESTION_TOO_LONG'],
    [{ question: '?????' }, 'INVALID_QUESTION'],
    [{ question: 'What\u0007 is it' }, 'INVALID_QUESTION'],
    [{ question: 'What is \udc00' }, 'INVALID_QUESTION'],
    [{ question: 'What is it?', model: 'gpt-9' }, 'INVALID_MODEL'],
    [{ question: 'What is it?', model: ['extractive'] }, 'INVALID_MODEL'],
    [{ question: 'What is it?', stream: true }, 'INVALID_QUESTION'],
  ])('like %j is refused with %s', (request, code) => {
    expect(codeOf(() => readChatRequest(request, MODELS))).toBe(code)
  })

  test('for a model that there is not is told which there are', () => {
    expect(() => readChatRequest({ question: 'What is it?', model: 'x' }, MODELS)).toThrow(
      expect.objectContaining({ details: { field: 'model', available: MODELS } }),
    )
  })
})

test('anything at all is either read or refused with a code of its own', () => {
  const own = /^(INVALID|QUERY|QUESTION)_[A-Z_]+$/
  fc.assert(
    fc.property(fc.anything(), fc.string({ unit: 'binary' }), (value, text) => {
      for (const request of [value, { query: value }, { query: text, limit: value }, { query: text }]) {
        const code = codeOf(() => readSearchRequest(request))
        if (code !== undefined) expect(code).toMatch(own)
      }
      for (const request of [
        value,
        { question: value },
        { question: text, model: value },
        { question: text },
      ]) {
        const code = codeOf(() => readChatRequest(request, MODELS))
        if (code !== undefined) expect(code).toMatch(own)
      }
    }),
  )
})
