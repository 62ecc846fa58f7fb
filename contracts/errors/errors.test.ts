import { existsSync, readFileSync } from 'node:fs'
import { resolve } from 'node:path'
import { describe, expect, test } from 'vitest'
import { LIMITS } from '../limits.ts'
import { ERRORS, type ErrorDefinition, isServiceError, ServiceError } from './errors.ts'

const ROOT = resolve(import.meta.dirname, '../..')
const DEFINITIONS = Object.entries<ErrorDefinition>(ERRORS)

/** The codes behind every exit code of the registry. */
function codesByExit(): Record<number, string[]> {
  const codes: Record<number, string[]> = {}
  for (const [code, { exitCode }] of DEFINITIONS) {
    if (exitCode !== undefined) codes[exitCode] = [...(codes[exitCode] ?? []), code].toSorted()
  }
  return codes
}

describe.each(DEFINITIONS)('%s', (code, { status, exitCode, message, nextStep }) => {
  test('has a plain name and the status of a refusal', () => {
    // Those of search and chat are in capitals, as their callers know them.
    expect(code).toMatch(/^(?:[a-z]+(?:_[a-z]+)*|[A-Z]+(?:_[A-Z]+)*)$/)
    expect([
      400, 401, 402, 403, 404, 405, 408, 409, 413, 414, 415, 416, 422, 429, 431, 500, 502, 503, 504,
    ]).toContain(status)
  })

  test('says in full sentences what happened and what to do', () => {
    for (const text of [message, nextStep]) {
      expect(text).toMatch(/^[A-Z].*[\w`)]\.$/)
      expect(text.split(' ').length).toBeGreaterThan(3)
    }
    expect(nextStep).not.toBe(message)
  })

  test('sends readers only to pages that exist', () => {
    const pages = `${message} ${nextStep}`.match(/docs\/[\w-]+\.md/g) ?? []
    expect(pages.filter((page) => !existsSync(resolve(ROOT, page)))).toEqual([])
  })

  test('ends a command with a code that no shell gives a meaning of its own', () => {
    if (exitCode === undefined) return
    expect(Number.isInteger(exitCode)).toBe(true)
    expect(exitCode).toBeGreaterThanOrEqual(1)
    expect(exitCode).toBeLessThan(64)
  })
})

describe('exit codes', () => {
  test('are shared only where the same thing is to be done', () => {
    const shared = Object.values(codesByExit()).filter((codes) => codes.length > 1)
    expect(shared).toEqual([
      ['event_unreadable', 'internal_error'],
      ['append_unknown', 'outcome_unknown', 'store_unavailable'],
    ])
  })

  test('are those that docs/running.md explains', () => {
    const page = readFileSync(resolve(ROOT, 'docs/running.md'), 'utf8')
    const rows = page.matchAll(/^\| (\d+) \| ((?:`\w+`(?:, )?)+) \|/gm)
    const explained = [...rows].map(([, exit = '', codes = '']) => [
      exit,
      codes.replaceAll('`', '').split(', ').toSorted(),
    ])
    expect(Object.fromEntries(explained)).toEqual(codesByExit())
  })
})

test('too little history names the number of bars that is enforced', () => {
  expect(ERRORS.insufficient_history.nextStep).toContain(`${LIMITS.warmUpBars} closed bars`)
})

describe('a service error', () => {
  test('says what the registry says unless told more', () => {
    const error = new ServiceError('store_full')
    expect(error.message).toBe(ERRORS.store_full.message)
    expect(error.nextStep).toBe(ERRORS.store_full.nextStep)
    expect(error.details).toBeUndefined()
    expect('cause' in error).toBe(false)
  })

  test('carries what happened, its cause and details', () => {
    const cause = new Error('ENOSPC')
    const error = new ServiceError('store_full', { message: '0 bytes left', details: { free: 0 }, cause })
    expect(error).toMatchObject({
      message: '0 bytes left',
      details: { free: 0 },
      cause,
      name: 'ServiceError',
    })
    expect(error.nextStep).toBe(ERRORS.store_full.nextStep)
  })

  test('is told from other errors, and by its code', () => {
    const error: unknown = new ServiceError('not_found')
    expect(isServiceError(error)).toBe(true)
    expect(isServiceError(error, 'not_found')).toBe(true)
    expect(isServiceError(error, 'store_full')).toBe(false)
    expect(isServiceError(Object.assign(new Error('no'), { code: 'not_found' }))).toBe(false)
    expect(isServiceError(undefined)).toBe(false)
  })
})
