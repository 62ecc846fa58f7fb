import { once } from 'node:events'
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { openEmbeddedStore } from '../../log/embedded/embedded-store.ts'
import { anEvent } from '../../log/event-store.contract.ts'
import { beginSignal, runSignal } from '../kit/run-signal.fixture.ts'

let folder: string
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'doctor-log-'))
})
afterAll(() => rmSync(folder, { recursive: true, force: true }))

const examine = (): Promise<{ code: number; said: string }> =>
  runSignal('doctor', '--log', '--data-dir', folder)

test('doctor --log reads every event of a log, and names one that was changed on the disk', async () => {
  const directory = join(folder, 'simulated')
  mkdirSync(directory)
  const store = await openEmbeddedStore({ directory, now: Date.now })
  for (let n = 0; n < 40; n++)
    await store.append(`s-${n}`, [anEvent({ text: `event number ${n} of many` })], { expected: 'no-stream' })
  await store.close()
  expect((await examine()).said).toMatch(/^ok +log +40 events, each as it was written$/m)

  const file = join(directory, 'events.db')
  const bytes = readFileSync(file)
  const at = bytes.indexOf('event number 17 of many')
  bytes[at] = (bytes[at] ?? 0) ^ 1
  writeFileSync(file, bytes)
  const { said } = await examine()
  expect(said).toMatch(/^fault +log +the log .* is damaged: 1 faults, .*position 18 /m)
})

test('a clock that is behind the newest event of the log is weak', async () => {
  const store = await openEmbeddedStore({ directory: join(folder, 'late', 'simulated'), now: () => 100_000 })
  await store.append('s-1', [anEvent({})], { expected: 'no-stream' })
  await store.close()
  const clockAt = async (now: number): Promise<string> => {
    const { written, done } = beginSignal(['doctor', '--data-dir', join(folder, 'late')], { now: () => now })
    await done
    return written.out
  }
  expect(await clockAt(95_000)).toMatch(/^ok {5}clock +not behind/m)
  expect(await clockAt(94_000)).toMatch(/^weak {3}clock +6 s behind .*\n +Set it by NTP: timedatectl/m)
})

test('a node of another chain, and one that does not answer, are faults', async () => {
  let result: unknown = '0x2105'
  const chain = createServer((_, response) => void response.end(JSON.stringify([{ result }])))
  chain.listen(0, '127.0.0.1')
  await once(chain, 'listening')
  const { port } = chain.address() as AddressInfo
  const chainAt = async (at: number, ...more: string[]): Promise<string> => {
    const node = ['--x402-rpc-url', `http://127.0.0.1:${at}/key`]
    return (await runSignal('doctor', '--data-dir', folder, ...node, ...more)).out
  }
  try {
    expect(await chainAt(port)).toMatch(/^ok {5}chain +the node is of chain 8453$/m)
    expect(await chainAt(port, '--x402-pay-to', `0x${'22'.repeat(20)}`)).toMatch(
      /^weak {3}chain +the node is of chain 8453; payments are refused: no facilitator is set$/m,
    )
    result = '0x1'
    expect(await chainAt(port)).toMatch(
      /^fault {2}chain .* chain 1, and payments are on chain 8453\n +Set X402/m,
    )
  } finally {
    chain.close()
  }
  expect(await chainAt(9)).toMatch(/^fault {2}chain +The node of the chain did not tell its id: (?!.*key)/m)
})

test('payments that are offered without a node are weak', async () => {
  const { out } = await runSignal('doctor', '--data-dir', folder, '--x402-pay-to', `0x${'22'.repeat(20)}`)
  expect(out).toMatch(
    /^weak {3}chain +payments are offered on it and refused: no node is set\n +Set X402_RPC_URL/m,
  )
})
