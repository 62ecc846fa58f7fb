import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as wait } from 'node:timers/promises'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { PLAN_LIMITS } from '../../contracts/domain/plans.ts'
import { startWireDouble, type WireDouble } from '../../testing/eventstoredb-double/wire-double.ts'
import type { Payer } from '../accounts/index.ts'
import { openEmbeddedStore } from '../log/embedded/embedded-store.ts'
import type { EventStore } from '../log/event-store.ts'
import { openEventStoreDbStore } from '../log/eventstoredb/eventstoredb-store.ts'
import { idempotencyHash } from './idempotency-key.ts'
import {
  aPayer,
  type CallServer,
  type CallServerArguments,
  callFromProcess,
  leaveCalls,
  loggedDebits,
  startCallServer,
} from './testing/call-servers.ts'
import { type CallOutcome, createCaller } from './testing/send-calls.ts'

/** How often a server is killed under load; more for a longer look: `QUOTA_KILLS=100`. */
const KILLS = Number(process.env.QUOTA_KILLS ?? 3)

/** A kind of store, for servers in other processes to share. */
interface Setting {
  readonly where: CallServerArguments['store']
  /** Servers that may use it at a time. */
  readonly servers: number
  /** Works on the log from here; the embedded store takes one process at a time. */
  withStore<Value>(work: (store: EventStore) => Promise<Value>): Promise<Value>
  close(): Promise<void>
}

function embedded(): Setting {
  const directory = mkdtempSync(join(tmpdir(), 'race-'))
  return {
    where: { kind: 'embedded', directory },
    servers: 1,
    async withStore(work) {
      const store = await openEmbeddedStore({ directory, now: Date.now })
      try {
        return await work(store)
      } finally {
        await store.close()
      }
    },
    close: async () => rmSync(directory, { recursive: true, force: true }),
  }
}

async function eventStoreDb(): Promise<Setting> {
  const double: WireDouble = await startWireDouble()
  const store = openEventStoreDbStore({ connectionString: double.connectionString })
  return {
    where: { kind: 'eventstoredb', connectionString: double.connectionString },
    servers: 3,
    withStore: (work) => work(store),
    async close() {
      await store.close()
      double.stop()
    },
  }
}

describe.each([
  ['one server on the embedded store', embedded],
  ['three servers on EventStoreDB', eventStoreDb],
])('%s', (_, open) => {
  let setting: Setting
  let payer: Payer
  let servers: CallServer[]

  beforeEach(async () => {
    setting = await open()
    payer = aPayer()
    servers = []
  })
  afterEach(async () => {
    await Promise.all(servers.map((server) => server.kill()))
    await setting.close()
  })

  const start = (): Promise<CallServer> => startCallServer({ store: setting.where, payer })
  const startAll = async (): Promise<void> => {
    servers = await Promise.all(Array.from({ length: setting.servers }, start))
  }
  const stopAll = async (): Promise<void> => {
    await Promise.all(servers.splice(0).map((server) => server.kill()))
  }
  const urlOf = (n: number): string => servers[n % servers.length]?.url ?? ''
  const debitsInLog = () => setting.withStore((store) => loggedDebits(store, payer))

  test.each([['without'], ['with']])(
    '500 calls at once from three processes, 100 left, %s idempotency keys: 100 answers, 400 refusals',
    async (keys) => {
      await setting.withStore((store) => leaveCalls(store, payer, 100))
      await startAll()
      const calls = Array.from({ length: 500 }, (_call, n) => ({
        url: urlOf(n),
        ...(keys === 'with' && { key: `key-${n}` }),
      }))
      const shares = [0, 1, 2].map((client) => calls.filter((_call, n) => Math.floor(n / 3) % 3 === client))
      const outcomes = (await Promise.all(shares.map(callFromProcess))).flat()
      await stopAll()

      const answered = outcomes.filter(({ serial }) => serial !== undefined)
      const refused = outcomes.filter(({ serial }) => serial === undefined)
      expect(refused.map(({ code }) => code)).toEqual(Array(400).fill('quota_exhausted'))
      const debits = await debitsInLog()
      expect(debits.map(({ used }) => used)).toEqual(Array.from({ length: 100 }, (_debit, n) => 9_901 + n))
      expect(new Set(answered.map(({ serial }) => serial))).toEqual(
        new Set(debits.map(({ serial }) => serial)),
      )
      const usedOf = new Map(debits.map(({ serial, used }) => [serial, used]))
      expect(answered.map(({ serial = '' }) => usedOf.get(serial))).toEqual(answered.map(({ used }) => used))
    },
    60_000,
  )

  test('the same key from three processes at once: one debit, one answer for all', async () => {
    await setting.withStore((store) => leaveCalls(store, payer, 100))
    await startAll()
    const calls = Array.from({ length: 30 }, (_call, n) => ({ url: urlOf(n), key: `key-${n % 2}` }))
    const shares = [0, 1, 2].map((client) => calls.filter((_call, n) => n % 3 === client))
    const outcomes = (await Promise.all(shares.map(callFromProcess))).flat()
    await stopAll()
    const debits = await debitsInLog()
    expect(debits).toHaveLength(2)
    for (const { key = '', serial } of outcomes) {
      const hash = idempotencyHash(payer.id, key)
      expect(serial).toBe(debits.find((debit) => debit.idempotencyHash === hash)?.serial)
    }
  }, 60_000)

  test.each([
    { crowd: 24, keylessOf: 4, leftAKill: 60 },
    // So many that appends are under way behind others.
    { crowd: 64, keylessOf: 1, leftAKill: Math.min(1_000, Math.floor(9_000 / KILLS)) },
  ])(
    `${KILLS} kills under load of $crowd: no debit without its answer, no answer without its debit, never beyond the limit`,
    async ({ crowd, keylessOf, leftAKill }) => {
      const LEFT = leftAKill * KILLS
      await setting.withStore((store) => leaveCalls(store, payer, LEFT))
      const caller = createCaller(crowd)
      /** By key; what is known of it last. */
      const keyed = new Map<string, CallOutcome>()
      const keyless: CallOutcome[] = []
      let sent = 0
      let settled = 0

      /** Keys of calls whose outcome is not known, and that nobody asks for at the moment. */
      const lost: string[] = []

      async function callUntil(signal: AbortSignal, n: number): Promise<void> {
        while (!signal.aborted) {
          const url = urlOf(n)
          if (n % keylessOf === 0) keyless.push(await caller.send({ url }))
          else await callWithKey(url, lost.shift() ?? `key-${sent++}`)
          settled++
        }
      }

      async function callWithKey(url: string, key: string): Promise<void> {
        const outcome = await caller.send({ url, key })
        keyed.set(key, outcome)
        if (outcome.isLost === true) lost.push(key)
      }

      for (let kill = 0; kill < KILLS; kill++) {
        while (servers.length < setting.servers) servers.push(await start())
        const ending = new AbortController()
        const callers = Array.from({ length: crowd }, (_caller, n) => callUntil(ending.signal, n))
        // A busy machine answers its first calls late.
        const before = settled
        const isAnswered = (): boolean => settled >= before + 6
        while (!isAnswered()) await wait(5)
        await wait(20 + Math.random() * 60)
        const victim = servers[kill % servers.length]
        await victim?.kill()
        ending.abort()
        await Promise.all(callers)
        servers = servers.filter((server) => server !== victim)
      }
      // Whoever does not know what became of a call asks again with its key.
      while (servers.length < setting.servers) servers.push(await start())
      for (const key of lost.splice(0)) await callWithKey(urlOf(0), key)
      caller.close()
      await stopAll()

      const debits = await debitsInLog()
      const limit = PLAN_LIMITS.starter.callsPerWindow
      expect(debits.map(({ used }) => used)).toEqual(debits.map((_debit, n) => limit - LEFT + 1 + n))
      expect(debits.length).toBeLessThanOrEqual(LEFT)
      const bySerial = new Map(debits.map((debit) => [debit.serial, debit]))
      const byHash = new Map(debits.map((debit) => [debit.idempotencyHash, debit]))
      const outcomes = [...keyed.values()]
      expect(outcomes.filter(({ isLost }) => isLost)).toEqual([])
      for (const { key = '', serial, code } of outcomes) {
        const debit = byHash.get(idempotencyHash(payer.id, key))
        // The answer is the one in the log, or there is neither.
        expect({ key, serial }).toEqual({ key, serial: debit?.serial })
        if (serial === undefined) expect(code).toBe('quota_exhausted')
      }
      for (const { serial, isLost } of keyless) {
        if (serial !== undefined) expect(bySerial.get(serial)?.idempotencyHash).toBeNull()
        else if (isLost !== true) expect(debits).toHaveLength(LEFT)
      }
      const answered = [...outcomes, ...keyless].filter(({ serial }) => serial !== undefined)
      expect(new Set(answered.map(({ serial }) => serial)).size).toBe(answered.length)
      // What is in the log and reached nobody is of calls whose connection broke and that had no key to ask with.
      const unheard = debits.length - answered.length
      expect(unheard).toBeLessThanOrEqual(keyless.filter(({ isLost }) => isLost).length)
      expect(unheard).toBeGreaterThanOrEqual(0)
      expect(answered.length).toBeGreaterThan(KILLS * 5)
    },
    60_000 + KILLS * 5_000,
  )
})
