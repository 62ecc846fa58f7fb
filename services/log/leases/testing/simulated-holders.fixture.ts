import { setImmediate } from 'node:timers/promises'
import { ServiceError } from '../../../../contracts/errors/errors.ts'
import { createMemoryLog, openMemoryStore } from '../../../../testing/memory-store/memory-store.ts'
import { createSleepers, type Sleepers } from '../../../../testing/time/sleepers.fixture.ts'
import type { Leases } from '../leases.ts'
import { SharedLeases } from '../shared-leases.ts'

/** A process of the simulation: it sleeps by simulated time, and not at all while it is frozen. */
interface Process {
  readonly leases: Leases
  readonly ending: AbortController
  readonly ended: Promise<void>
  isFrozen: boolean
  isDead: boolean
  isStoreAway: boolean
  /** Until when it hears nothing of its appends, which happen. */
  deafUntil: number
  /** Since when its machine is suspended: its clock that is never set stands still, the other one goes on. */
  suspendedAt: number | undefined
  suspendedMs: number
  readonly sleepers: Sleepers
}

type Fault = 'join' | 'kill' | 'freeze' | 'suspend' | 'thaw' | 'leave' | 'away' | 'back' | 'lose'

const STEP_MS = 250
const NOON = Date.UTC(2026, 10, 22, 12)
/** Longer than the outcome of one append is pursued, and shorter than a lease. */
const DEAF_MS = 4_500
/** Turns of the event loop in which everything that is ready has had its say. */
const TURNS = 12

/** Several processes that share shards over one log, on simulated time, with all that can happen to them. */
export class SimulatedHolders {
  readonly errors: unknown[] = []
  /** Moments at which two processes that go about their work had the same shard, or a token that does not rise. */
  readonly #violations: string[] = []
  readonly #shards: number
  readonly #drifts: readonly number[]
  readonly #log = createMemoryLog()
  readonly #processes = new Map<number, Process>()
  readonly #retired: Process[] = []
  readonly #highest = new Map<number, number>()
  #now = 0
  #ids = 0
  #refusals = 0

  constructor({ shards, drifts = [] }: { shards: number; drifts?: readonly number[] }) {
    this.#shards = shards
    this.#drifts = drifts
  }

  /** @param deafMs for how long it hears nothing of its first appends */
  async join(index: number, deafMs = 0): Promise<void> {
    const before = this.#processes.get(index)
    if (before !== undefined) {
      if (!before.isDead) return
      this.#retired.push(before)
    }
    const process = this.#start(index, this.#now + deafMs)
    this.#processes.set(index, process)
    await this.#settle()
  }

  async kill(index: number): Promise<void> {
    const process = this.#processes.get(index)
    if (process === undefined) return
    process.isDead = true
    process.isFrozen = true
  }

  async leave(index: number): Promise<void> {
    const process = this.#processes.get(index)
    if (process === undefined || process.isFrozen || process.isStoreAway) return
    process.ending.abort()
    await this.#settle()
    process.isDead = true
  }

  freeze(index: number): void {
    const process = this.#processes.get(index)
    if (process !== undefined) process.isFrozen = true
  }

  suspend(index: number): void {
    const process = this.#processes.get(index)
    if (process === undefined || process.isDead) return
    process.isFrozen = true
    process.suspendedAt ??= this.#now
  }

  async thaw(index: number): Promise<void> {
    const process = this.#processes.get(index)
    if (process === undefined || process.isDead) return
    process.isFrozen = false
    if (process.suspendedAt !== undefined) process.suspendedMs += this.#now - process.suspendedAt
    process.suspendedAt = undefined
    await this.#settle()
  }

  storeAway(index: number): void {
    const process = this.#processes.get(index)
    if (process !== undefined) process.isStoreAway = true
  }

  storeBack(index: number): void {
    const process = this.#processes.get(index)
    if (process !== undefined) process.isStoreAway = false
  }

  /** For so long the answers to its appends are lost, and the appends happen. */
  deafen(index: number, milliseconds: number): void {
    const process = this.#processes.get(index)
    if (process !== undefined) process.deafUntil = this.#now + milliseconds
  }
  refuseNext(count: number): void {
    this.#refusals = count
  }

  async apply(index: number, what: Fault): Promise<void> {
    if (what === 'join') await this.join(index)
    if (what === 'kill') await this.kill(index)
    if (what === 'leave') await this.leave(index)
    if (what === 'freeze') this.freeze(index)
    if (what === 'suspend') this.suspend(index)
    if (what === 'thaw') await this.thaw(index)
    if (what === 'away') this.storeAway(index)
    if (what === 'back') this.storeBack(index)
    if (what === 'lose') this.deafen(index, DEAF_MS)
  }

  async recover(index: number): Promise<void> {
    this.storeBack(index)
    await this.thaw(index)
  }

  async pass(milliseconds: number): Promise<void> {
    const end = this.#now + milliseconds
    while (this.#now < end) {
      this.#now = Math.min(end, this.#now + STEP_MS)
      await this.#settle()
    }
  }

  shardsOf(index: number): number[] {
    return [...this.tokensOf(index).keys()].toSorted((a, b) => a - b)
  }

  tokensOf(index: number): Map<number, number> {
    const process = this.#processes.get(index)
    if (process === undefined || process.isDead) return new Map()
    return new Map(process.leases.held().map(({ shard, token }) => [shard, token]))
  }

  /** Events that were appended so far. */
  written(): number {
    return this.#log.rows.length
  }

  allShards(): number[] {
    return [...this.#processes.keys()].flatMap((index) => this.shardsOf(index))
  }

  /** Ends everything, so that nothing goes on after the test. @throws where two had the same at a time */
  async [Symbol.asyncDispose](): Promise<void> {
    const all = [...this.#processes.values(), ...this.#retired]
    for (const process of all) {
      process.isFrozen = false
      process.isStoreAway = false
      if (process.suspendedAt !== undefined) process.suspendedMs += this.#now - process.suspendedAt
      process.suspendedAt = undefined
      process.ending.abort()
    }
    for (let turn = 0; turn < 4; turn++) await this.#settle()
    const violations = [...this.#violations]
    const left = new Set(all)
    const ended = Promise.all(all.map((process) => process.ended.finally(() => left.delete(process))))
    // Who gives back what another gives back too pauses before it tries again, and needs time to pass for that.
    while (left.size > 0) {
      this.#now += STEP_MS
      for (const process of all) process.sleepers.wake(this.#runningMs(process))
      await setImmediate()
    }
    await ended
    if (violations.length > 0) throw new Error(violations.join('; '))
  }

  #start(index: number, deafUntil: number): Process {
    const store = openMemoryStore({ now: () => 0, log: this.#log })
    const ending = new AbortController()
    const drift = this.#drifts[index] ?? 0
    const state = {
      isFrozen: false,
      isDead: false,
      isStoreAway: false,
      deafUntil,
      suspendedAt: undefined as number | undefined,
      suspendedMs: 0,
    }
    const sleepers = createSleepers()
    const running = (): number => this.#runningMs(state)
    const leases = new SharedLeases({
      store: {
        ...store,
        append: async (...append) => {
          if (state.isStoreAway) throw new ServiceError('store_unavailable')
          const result = await store.append(...append)
          if (this.#now < state.deafUntil) {
            throw new ServiceError('append_unknown')
          }
          return result
        },
      },
      group: 'simulated',
      shards: this.#shards,
      holder: `process-${index}-${this.#ids}`,
      newId: () => `019abcde-7c00-7001-8000-${String(++this.#ids).padStart(12, '0')}`,
      // Clocks are apart, and one runs up to a percent faster than another.
      elapsed: () => drift + running() * (1 + drift / 200_000),
      now: () => NOON + drift + this.#now * (1 + drift / 200_000),
      sleep: (milliseconds, signal) =>
        milliseconds <= 0 ? Promise.resolve() : sleepers.sleepUntil(running() + milliseconds, signal),
      report: (error) => this.errors.push(error),
    })
    const ended = leases.run(
      {
        gained: async ({ shard, token }) => {
          if (this.#refusals > 0) {
            this.#refusals -= 1
            throw new Error('cannot begin')
          }
          if (token <= (this.#highest.get(shard) ?? -1))
            this.#violations.push(`shard ${shard} had ${token} before`)
          this.#highest.set(shard, token)
        },
        lost: async () => undefined,
      },
      ending.signal,
    )
    return Object.assign(state, { leases, ending, ended, sleepers })
  }

  /** How long a process' machine has been running. */
  #runningMs({ suspendedAt, suspendedMs }: Pick<Process, 'suspendedAt' | 'suspendedMs'>): number {
    return (suspendedAt ?? this.#now) - suspendedMs
  }

  /** Lets everything happen that is due now, and looks whether anybody has what another one has. */
  async #settle(): Promise<void> {
    for (let turn = 0; turn < TURNS; turn++) {
      for (const process of this.#processes.values()) {
        if (!process.isFrozen) process.sleepers.wake(this.#runningMs(process))
      }
      await setImmediate()
      this.#look()
    }
  }

  #look(): void {
    const held = new Map<number, number>()
    for (const [index, { leases, isFrozen }] of this.#processes) {
      // A frozen process does nothing; what counts is what it would believe if it went on this very moment.
      if (isFrozen && this.#processes.get(index)?.isDead === true) continue
      for (const { shard } of leases.held()) {
        const other = held.get(shard)
        if (other !== undefined) this.#violations.push(`${shard} at ${this.#now}: ${other} and ${index}`)
        held.set(shard, index)
      }
    }
  }
}
