import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { CHATS_PER_WINDOW } from '../../contracts/answers/knowledge.ts'
import { LIMITS } from '../../contracts/limits.ts'
import type { Identity } from '../accounts/index.ts'
import { type ChatModel, type Knowledge, openKnowledge } from '../knowledge/index.ts'
import { aChatWorld, CHATTER, type ChatWorld, NOON } from '../knowledge/testing/chats.fixture.ts'
import { createKnowledgeService, type KnowledgeService } from './knowledge-service.ts'

const KEY = 'Bearer sk_live_good'
const IDENTITY: Identity = {
  outcome: 'OK',
  accountId: CHATTER.id,
  keyId: '0190a000-0000-7000-8000-00000000000a',
  tier: 'free',
  window: CHATTER.window,
}
const IDENTITIES: Readonly<Record<string, Identity>> = {
  [KEY]: IDENTITY,
  'Bearer unknown': { outcome: 'UNKNOWN' },
  'Bearer unsure': { outcome: 'INDETERMINATE', reason: 'a test' },
  nonsense: { outcome: 'MALFORMED' },
}

let folder: string
let world: ChatWorld
let knowledge: Knowledge
let service: KnowledgeService
/** The text of the model, and how often it was asked. */
let model: { complete: ChatModel['complete']; asked: number }

beforeEach(async () => {
  folder = mkdtempSync(join(tmpdir(), 'desk-'))
  writeFileSync(
    join(folder, 'quotas.md'),
    '# Quotas\n\nEvery answered call counts one. Refused calls count nothing.\n',
  )
  world = aChatWorld()
  model = { asked: 0, complete: async () => 'One [1].' }
  knowledge = await openKnowledge({
    folder,
    publicUrl: () => 'https://signals.example',
    report: () => undefined,
    model: {
      name: 'big',
      complete: (...given) => {
        model.asked += 1
        return model.complete(...given)
      },
    },
  })
  service = aService()
})
afterEach(() => rmSync(folder, { recursive: true, force: true }))

/** Another process over the same log. */
const aService = (): KnowledgeService =>
  createKnowledgeService({
    identify: async (authorization) =>
      authorization === undefined
        ? { outcome: 'ABSENT' }
        : (IDENTITIES[authorization] ?? { outcome: 'UNKNOWN' }),
    knowledge,
    ledger: world.ledger(),
    now: () => world.now,
  })

const ask = (
  change: {
    key?: string
    model?: string
    question?: string
    authorization?: string | undefined
    at?: KnowledgeService
  } = {},
) => {
  const { key, model: name = 'extractive', question = 'Do refused calls count?', at = service } = change
  return at.chat({
    request: { question, model: name },
    authorization: 'authorization' in change ? change.authorization : KEY,
    idempotencyKey: key,
    requestId: 'request',
    channel: 'http',
  })
}
const types = () => world.events().map(({ type }) => type)

describe('without a key that applies', () => {
  test.each([
    [undefined, 'unauthorized'],
    ['nonsense', 'unauthorized'],
    ['Bearer unknown', 'key_unknown'],
    ['Bearer unsure', 'key_unverifiable'],
  ])('%s is refused with %s, whatever is asked', async (authorization, code) => {
    await expect(ask({ authorization })).rejects.toMatchObject({ code })
    await expect(service.search({ request: { query: 'quota' }, authorization })).rejects.toMatchObject({
      code,
    })
    await expect(service.search({ request: null, authorization })).rejects.toMatchObject({ code })
  })
})

test('a search finds sections, and says nothing about who asked', async () => {
  const answer = await service.search({ request: { query: 'refused calls' }, authorization: KEY })
  expect(answer).toEqual({
    query: 'refused calls',
    total: 1,
    results: [
      {
        id: 'quotas#quotas',
        title: 'Quotas',
        url: 'https://signals.example/docs/quotas#quotas',
        excerpt: 'Every answered call counts one. Refused calls count nothing.',
        score: expect.any(Number),
      },
    ],
  })
  expect(world.log.rows).toEqual([])
})

describe('a chat', () => {
  test('is answered, counted and kept without its question', async () => {
    const { body, isReplay } = await ask()
    expect(body).toMatchObject({
      question: 'Do refused calls count?',
      answer: 'Every answered call counts one. Refused calls count nothing. [1]',
      citations: [{ id: 'quotas#quotas' }],
      model: 'extractive',
      note: null,
      quota: { remaining: 9, limit: 10, used: 1, resets_at: '2026-12-01T00:00:00.000Z' },
    })
    expect(isReplay).toBe(false)
    expect(types()).toEqual(['ChatAnswered'])
    expect(JSON.stringify(world.log.rows)).not.toContain('Do refused calls count?')
  })

  test('that the documentation does not say costs nothing and asks no model', async () => {
    const { body } = await ask({ question: 'What is the capital of France?', model: 'big' })
    expect(body).toMatchObject({ citations: [], model: 'big', quota: { used: 0, remaining: 10 } })
    expect([model.asked, types()]).toEqual([0, []])
  })

  test('by a model is counted with its answer', async () => {
    model.complete = async () => 'They do not [1].'
    const { body } = await ask({ model: 'big' })
    expect(body).toMatchObject({ answer: 'They do not [1].', model: 'big', quota: { used: 1 } })
    expect(types()).toEqual(['ChatAnswered'])
  })

  test('of an account waits for the one before, so no model is asked beyond the quota', async () => {
    for (let n = 1; n < CHATS_PER_WINDOW.free; n++) await ask()
    const outcomes = await Promise.allSettled([
      ask({ model: 'big' }),
      ask({ model: 'big' }),
      ask({ model: 'big' }),
    ])
    expect(outcomes.map(({ status }) => status)).toEqual(['fulfilled', 'rejected', 'rejected'])
    expect(model.asked).toBe(1)
  })

  test('is refused while as many of its account wait as a model takes', async () => {
    const { promise, resolve } = Promise.withResolvers<string>()
    model.complete = () => promise
    const all = Array.from({ length: LIMITS.chatModelAtOnce }, () => ask({ model: 'big' }))
    await expect.poll(() => model.asked).toBe(1)
    await expect(ask()).rejects.toMatchObject({ code: 'rate_limited', details: { retry_after_s: 2 } })
    resolve('Once [1].')
    await Promise.all(all)
    expect((await ask()).body.quota.used).toBe(LIMITS.chatModelAtOnce + 1)
  })

  test('by a model that fails is answered in its place, and counted once', async () => {
    model.complete = () => Promise.reject(new TypeError('inside'))
    const { body } = await ask({ model: 'big' })
    expect(body).toMatchObject({
      model: 'extractive',
      note: expect.stringContaining('failed'),
      quota: { used: 1 },
    })
  })

  test('past the last one is refused before any model is asked', async () => {
    for (let n = 0; n < CHATS_PER_WINDOW.free; n++) await ask()
    await expect(ask({ model: 'big' })).rejects.toMatchObject({ code: 'CHAT_QUOTA_EXHAUSTED' })
    expect(model.asked).toBe(0)
  })

  test('is refused for what is wrong with it before anything is counted', async () => {
    await expect(ask({ question: 'Why?' })).rejects.toMatchObject({ code: 'QUESTION_TOO_SHORT' })
    await expect(ask({ model: 'huge' })).rejects.toMatchObject({
      code: 'INVALID_MODEL',
      details: { available: ['big', 'extractive'] },
    })
    await expect(ask({ key: 'a b' })).rejects.toMatchObject({ code: 'invalid_request' })
    expect(types()).toEqual([])
  })
})

describe('a repeated Idempotency-Key', () => {
  test('has the stored answer, in another process too, also when none is left', async () => {
    const first = await ask({ key: 'k', model: 'big' })
    for (let n = 1; n < CHATS_PER_WINDOW.free; n++) await ask()
    const again = await ask({ key: 'k', model: 'big', at: aService() })
    expect(again.isReplay).toBe(true)
    expect(again.body).toEqual({ ...first.body, quota: { ...first.body.quota, used: 10, remaining: 0 } })
    expect(model.asked).toBe(1)
  })

  test('waits for the first while that is under way', async () => {
    const { promise, resolve } = Promise.withResolvers<string>()
    model.complete = () => promise
    const all = [ask({ key: 'k', model: 'big' }), ask({ key: 'k', model: 'big' })]
    await expect.poll(() => model.asked).toBe(1)
    resolve('Once [1].')
    const outcomes = await Promise.all(all)
    expect(outcomes.map(({ body }) => body.answer)).toEqual(['Once [1].', 'Once [1].'])
    expect(outcomes.filter(({ isReplay }) => isReplay)).toHaveLength(1)
    expect(types()).toEqual(['ChatAnswered'])
  })

  test('with another question is refused', async () => {
    await ask({ key: 'k' })
    await expect(ask({ key: 'k', question: 'Do answered calls count?' })).rejects.toMatchObject({
      code: 'idempotency_mismatch',
    })
  })

  test('of a question that was not answered is free for another', async () => {
    await ask({ key: 'k', question: 'What is the capital of France?' })
    expect((await ask({ key: 'k' })).isReplay).toBe(false)
  })

  test('counts in the window in which it was begun', async () => {
    world.now = NOON
    await ask({ key: 'k' })
    expect(world.events()[0]?.stream).toBe(`chat-${CHATTER.id}.2026-11`)
  })
})
