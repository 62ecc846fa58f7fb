import { execFile } from 'node:child_process'
import { EventEmitter } from 'node:events'
import { promisify } from 'node:util'
import type { Worker } from 'node:worker_threads'
import { expect, test } from 'vitest'
import { anAuthorization, payerNumber, signAuthorization } from '../testing/sign-payment.ts'
import { createNativeRecovery } from './native-recovery.ts'
import { createThreadedRecovery } from './threaded-recovery.ts'

const payers = [1, 2, 3].map(payerNumber)
const asked = await Promise.all(
  payers.map(async (payer) => {
    const authorization = anAuthorization(payer)
    return { authorization, signature: await signAuthorization(payer, authorization) }
  }),
)
const nobody = {
  authorization: anAuthorization(payerNumber(1)),
  signature: `0x${'ff'.repeat(64)}1b`,
} as const
const all = [...asked.slice(0, 2), nobody, ...asked.slice(2)]
const signers = payers.map(({ address }) => address.toLowerCase())
const expected = [...signers.slice(0, 2), undefined, ...signers.slice(2)]

/** Stands in for a thread, and answers when a test says so. */
class FakeThread extends EventEmitter {
  readonly messages: Uint8Array[] = []
  ref(): void {}
  unref(): void {}
  postMessage(checks: Uint8Array): void {
    this.messages.push(checks)
  }
  answer(change: (signers: Uint8Array) => Uint8Array = (found) => found): void {
    const checks = this.messages.at(-1) ?? new Uint8Array(0)
    this.emit('message', change(createNativeRecovery().signersOf(checks)))
  }
}

function open(start?: () => Worker) {
  const reasons: (string | undefined)[] = []
  const report = (_: string, { reason }: Readonly<Record<string, string>>) => void reasons.push(reason)
  const recovery = createThreadedRecovery({ report }, start)
  const recover = () => Promise.all(all.map((one) => recovery.recover(one.authorization, one.signature)))
  return { recovery, recover, reasons }
}

function openFake() {
  const thread = new FakeThread()
  return { thread, ...open(() => thread as unknown as Worker) }
}

const turn = () => new Promise((resolve) => setImmediate(resolve))

test('a thread finds the signers of all that come together, and nobody for what nobody signed', async () => {
  const threads: Worker[] = []
  const { Worker: Thread } = await import('node:worker_threads')
  const { recover, reasons } = open(() => {
    const made = new Thread(new URL('./recovery-thread.ts', import.meta.url))
    threads.push(made)
    return made
  })
  expect(await recover()).toEqual(expected)
  await new Promise((resolve) => threads[0]?.once('message', resolve))
  await turn()
  expect(await recover()).toEqual(expected)
  expect(await Promise.all([recover(), recover()])).toEqual([expected, expected])
  expect([threads.length, reasons]).toEqual([1, []])
  await threads[0]?.terminate()
})

test('one that comes alone starts no thread, and waits for none', async () => {
  const { thread, recovery, recover } = openFake()
  const [first] = asked
  if (first === undefined) throw new Error('there are no payers')
  const alone = () => recovery.recover(first.authorization, first.signature)
  expect(await alone()).toBe(signers[0])
  expect(thread.messages).toEqual([])
  await recover()
  thread.answer()
  expect(await alone()).toBe(signers[0])
  expect(thread.messages).toHaveLength(1)
})

test('the thread is asked one message for a turn, once it found what was found here', async () => {
  const { thread, recover } = openFake()
  // Nobody waits for a thread that is starting.
  expect(await recover()).toEqual(expected)
  expect(await recover()).toEqual(expected)
  expect(thread.messages).toHaveLength(1)
  thread.answer()
  const later = recover()
  await turn()
  expect(thread.messages).toHaveLength(2)
  thread.answer()
  expect(await later).toEqual(expected)
})

test('of many that come together, the first are handed over before the turn ends', async () => {
  const { thread, recover } = openFake()
  await recover()
  thread.answer()
  const [first, second] = [recover(), recover()]
  expect(thread.messages).toHaveLength(2)
  thread.answer()
  expect(await Promise.all([first, second])).toEqual([expected, expected])
})

test('a thread that finds other signers is never asked again', async () => {
  const { thread, recover, reasons } = openFake()
  await recover()
  thread.answer((found) => found.map((byte) => byte ^ 2))
  expect(await recover()).toEqual(expected)
  expect([thread.messages.length, reasons]).toEqual([1, ['the other thread found other signers']])
})

test('what is under way when the thread fails is looked at here', async () => {
  const { thread, recover, reasons } = openFake()
  await recover()
  thread.answer()
  const [early, late] = [recover(), turn().then(recover)]
  await turn()
  await turn()
  expect(thread.messages).toHaveLength(3)
  thread.emit('error', new Error('out of memory'))
  expect(await Promise.all([early, late, recover()])).toEqual([expected, expected, expected])
  expect([thread.messages.length, reasons]).toEqual([3, ['out of memory']])
})

test('a process whose payments are answered ends by itself: its thread does not keep it', async () => {
  const asks = JSON.stringify(
    asked.map(({ authorization, signature }) => [authorization, signature]),
    (_, value) => (typeof value === 'bigint' ? { integer: String(value) } : value),
  )
  const program = `
    import { createThreadedRecovery } from ${JSON.stringify(new URL('./threaded-recovery.ts', import.meta.url).href)}
    const asks = JSON.parse(${JSON.stringify(asks)}, (_, value) => value?.integer === undefined ? value : BigInt(value.integer))
    const recovery = createThreadedRecovery({ report: (_, { reason }) => console.log(reason) })
    const recover = () => Promise.all(asks.map((ask) => recovery.recover(...ask)))
    await recover()
    await new Promise((resolve) => setTimeout(resolve, 2_000))
    console.log((await recover()).length)`
  const run = promisify(execFile)
  const { stdout } = await run(process.execPath, ['-e', program], { timeout: 30_000 })
  expect(stdout).toBe('3\n')
}, 40_000)
