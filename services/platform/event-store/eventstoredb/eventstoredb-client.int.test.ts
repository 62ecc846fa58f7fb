import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { expect, test } from 'vitest'
import { ServiceError } from '../../../../contracts/errors.ts'
import { startWireDouble } from '../wire-double/wire-double.ts'
import { createEventStoreDbClient } from './eventstoredb-client.ts'

const SECRET = 'hush-hush'

test.each([
  `esdb://admin:${SECRET}@`,
  `esdb://admin:${SECRET}@host:port`,
  `nonsense://admin:${SECRET}@host`,
  `esdb://admin:${SECRET}%zz@host`,
  `esdb://admin:${SECRET}@host?throwOnAppendFailure=false`,
  `esdb://admin:${SECRET}@host?nodePreference=nobody`,
])('%s is refused without being quoted', (connectionString) => {
  let error: unknown
  try {
    createEventStoreDbClient(connectionString)
  } catch (caught) {
    error = caught
  }
  if (!(error instanceof ServiceError)) throw new Error('expected a ServiceError', { cause: error })
  expect(error.code).toBe('config_invalid')
  expect(error.cause).toBeUndefined()
  expect(`${error.message} ${error.stack}`).not.toContain(SECRET)
})

test('the client prints no password, even when everything is printed', async () => {
  const double = await startWireDouble()
  const connectionString = double.connectionString.replace('://', `://admin:${SECRET}@`)
  const script = `
    import { openEventStoreDbStore } from ${JSON.stringify(new URL('./eventstoredb-store.ts', import.meta.url).href)}
    const store = openEventStoreDbStore({ connectionString: process.env.CONNECTION_STRING })
    const meta = { correlationId: 'c', actor: 'a' }
    const id = '0190a000-0000-7000-8000-000000000001'
    await store.append('s-1', [{ id, type: 'SomethingHappened', schema: 1, data: {}, meta }], { expected: 'any' })
    const ending = new AbortController()
    for await (const item of store.subscribe({ after: 'start', signal: ending.signal })) {
      if (item.kind === 'caught-up') ending.abort()
    }
    await store.close()
    process.exit(0)`
  const child = spawn(process.execPath, ['--input-type=module', '--eval', script], {
    env: { ...process.env, DEBUG: '*', CONNECTION_STRING: connectionString },
  })
  let output = ''
  for (const stream of [child.stdout, child.stderr]) {
    stream.on('data', (chunk: Buffer) => {
      output += chunk.toString('utf8')
    })
  }
  const [exitCode] = (await once(child, 'close')) as [number]
  double.stop()
  expect(exitCode).toBe(0)
  expect(output).toContain('Using connection string')
  expect(output).not.toContain(SECRET)
  expect(output).not.toContain(Buffer.from(`admin:${SECRET}`).toString('base64'))
})
