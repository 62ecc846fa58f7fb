import { type ChildProcess, execFile, spawn } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { promisify } from 'node:util'
import { PLAN_LIMITS } from '../../../contracts/domain/plans.ts'
import { decodeEvent } from '../../../contracts/events/event-catalogue.ts'
import { newEvent } from '../../../contracts/events/event-definition.ts'
import { QuotaDebited } from '../../../contracts/events/quota-events.ts'
import { quotaStream } from '../../../contracts/events/streams.ts'
import { dayOf, type Payer, planWindow } from '../../accounts/index.ts'
import type { EventStore } from '../../log/event-store.ts'
import type { CallOutcome, SentCall } from './send-calls.ts'

export interface CallServerArguments {
  readonly store:
    | { readonly kind: 'embedded'; readonly directory: string }
    | { readonly kind: 'eventstoredb'; readonly connectionString: string }
  /** The account of every call. */
  readonly payer: Payer
}

export interface CallServer {
  readonly url: string
  /** SIGKILL; resolves when the process is gone. */
  kill(): Promise<void>
}

/** Starts a server in a process of its own; resolves when it listens. */
export async function startCallServer(options: CallServerArguments): Promise<CallServer> {
  const file = join(import.meta.dirname, 'call-server.ts')
  const child = spawn(process.execPath, [file, JSON.stringify(options)], {
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  const exited = once(child, 'exit')
  const url = await Promise.race([firstLine(child), exited.then(() => undefined)])
  if (url === undefined) throw new Error('the server ended before it listened')
  return {
    url,
    async kill() {
      child.kill('SIGKILL')
      await exited
    },
  }
}

async function firstLine({ stdout }: ChildProcess): Promise<string | undefined> {
  if (stdout === null) return undefined
  for await (const line of createInterface({ input: stdout })) return line
  return undefined
}

const run = promisify(execFile)

/** Sends calls from a process of its own, all at once. */
export async function callFromProcess(calls: readonly SentCall[]): Promise<CallOutcome[]> {
  const file = join(import.meta.dirname, 'call-client.ts')
  const { stdout } = await run(process.execPath, [file, JSON.stringify(calls)], { maxBuffer: 16_777_216 })
  return JSON.parse(stdout) as CallOutcome[]
}

/** A payer on the starter plan, whose days do not count: a test may run over midnight. */
export function aPayer(): Payer {
  const from = Date.UTC(2026, 10, 1)
  return { id: crypto.randomUUID(), tier: 'starter', window: planWindow(from, from + 10 * 365 * 86_400_000) }
}

/** Leaves a payer so many calls: one event that says how many were used. */
export async function leaveCalls(store: EventStore, payer: Payer, left: number): Promise<void> {
  const used = PLAN_LIMITS[payer.tier].callsPerWindow - left
  const hash = '0'.repeat(64)
  const data = {
    payerId: payer.id,
    window: payer.window,
    day: dayOf(payer.window.from),
    tool: 'get_trade_call',
    channel: 'http' as const,
    keyId: null,
    requestHash: hash,
    idempotencyHash: null,
    answer: '{"serial":"before"}',
    used,
    usedToday: used,
  }
  const meta = { correlationId: 'before', actor: 'test' }
  const event = newEvent(QuotaDebited, { id: crypto.randomUUID(), data, meta })
  await store.append(quotaStream(payer.id, payer.window.id), [event], { expected: 'no-stream' })
}

/** A debit in the log. */
export interface LoggedDebit {
  readonly serial: string
  readonly used: number
  readonly idempotencyHash: string | null
}

/** The debits of a payer in the order of its stream, without the one of {@link leaveCalls}. */
export async function loggedDebits(store: EventStore, payer: Payer): Promise<LoggedDebit[]> {
  const debits: LoggedDebit[] = []
  for await (const recorded of store.read(quotaStream(payer.id, payer.window.id), { from: 1 })) {
    const event = decodeEvent(recorded)
    if (event.type !== 'QuotaDebited') throw new Error(`the stream holds a ${event.type}`)
    const { answer, used, idempotencyHash } = event.data
    debits.push({ serial: (JSON.parse(answer) as { serial: string }).serial, used, idempotencyHash })
  }
  return debits
}
