import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { afterEach, describe, expect, test } from 'vitest'
import type { RecordedEvent } from '../../contracts/event.ts'
import { openEventStoreDbStore } from '../../services/log/eventstoredb/eventstoredb-store.ts'
import { audit, countMissing, readLog } from './audit.ts'
import { missingServers, OPERATOR_TOKEN, startCluster } from './cluster.ts'
import { startLoad } from './load.ts'
import { createMember } from './member.ts'
import { noRecords } from './records.ts'
import { startDouble } from './store-under-test.ts'

const NEWER = pathToFileURL(join(import.meta.dirname, 'newer-release.ts')).href
const closers: (() => unknown)[] = []
afterEach(async () => {
  for (const close of closers.splice(0)) await close()
})

/** The log as this release reads it: what the next one adds is left out. */
const asThisRelease = (event: RecordedEvent): RecordedEvent =>
  event.type === 'VerdictRecorded' && event.schema === 6 ? { ...event, schema: 5 } : event

describe.skipIf(missingServers !== undefined)(`a rolling upgrade under load${missingServers ?? ''}`, () => {
  test('has two releases on one log, which is written for both until it is raised; roles are added, moved and taken away', async () => {
    const store = await startDouble()
    closers.unshift(() => store.stop())
    const records = noRecords()
    const cluster = await startCluster(
      {
        store,
        roles: { former: 'api,projector,engine,dispatcher' },
        preloads: { next1: NEWER, next2: NEWER },
      },
      records,
      (close) => closers.unshift(close),
    )
    const [former] = cluster.members
    if (former === undefined) throw new Error('no process was started')
    const answering = [former]
    const { receiver } = cluster
    const load = await startLoad({
      members: answering,
      operatorToken: OPERATOR_TOKEN,
      receiver,
      records,
      rate: 3,
      chain: undefined,
      random: Math.random,
    })
    const reading = openEventStoreDbStore({ connectionString: store.url })
    closers.unshift(() => reading.close())
    const verdictSchemas = async (): Promise<Set<number>> => {
      const schemas = new Set<number>()
      for await (const { schema } of reading.readAll({ filter: { types: ['VerdictRecorded'] } }))
        schemas.add(schema)
      return schemas
    }

    const api = await cluster.add('next1', 'api,projector')
    await cluster.add('next2', 'engine,projector,api,dispatcher')
    answering.push(api)
    // A second process on the read models of another one is refused.
    const second = await createMember(api.options, (what) => void records.faults.push(what))
    closers.unshift(() => second.leave())
    await expect(second.start()).rejects.toThrow(/ended at its start with 7:[\s\S]*store_locked/)

    answering.splice(0, 1)
    expect((await former.stop()).code).toBe(0)
    const raise = async (): Promise<unknown> => {
      const headers = { authorization: `Bearer ${OPERATOR_TOKEN}` }
      const answer = await fetch(`${api.url}/operator/log-format/raise`, { method: 'POST', headers })
      return answer.json()
    }
    // What a newer engine recorded so far is what the older one could read.
    const taken = records.calls.length
    await expect.poll(() => records.calls.length - taken, { timeout: 30_000 }).toBeGreaterThan(10)
    expect(await verdictSchemas()).toEqual(new Set([5]))
    expect(await raise()).toEqual({ format: 5, newest: 5 })
    await expect.poll(verdictSchemas, { timeout: 60_000, interval: 500 }).toEqual(new Set([5, 6]))
    await expect(former.start()).rejects.toThrow(/ended at its start with 1:[\s\S]*newer release/)

    await load.stop()
    const whole = {
      async *readAll(options: Parameters<typeof reading.readAll>[0]) {
        for await (const event of reading.readAll(options)) yield asThisRelease(event)
      },
    }
    const log = await readLog(whole)
    await expect.poll(countMissing(log, records), { timeout: 60_000 }).toBe(0)
    await load.readBack()
    expect(audit(log, records)).toEqual([])
  }, 300_000)
})
