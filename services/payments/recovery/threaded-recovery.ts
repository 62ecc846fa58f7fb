import { Worker } from 'node:worker_threads'
import { reasonOf } from '../../../contracts/errors.ts'
import { CHECK_BYTES, checkOf, createNativeRecovery, signerAt } from './native-recovery.ts'
import type { OpenRecoveryOptions } from './open-recovery.ts'
import type { RecoverSigner } from './recover-signer.ts'

/** So many are handed over at once, so that the other thread begins while further requests are read. */
const MOST_AT_ONCE = 8

interface Waiting extends PromiseWithResolvers<`0x${string}` | undefined> {
  readonly check: Uint8Array
}

const startThread = (): Worker =>
  new Worker(new URL('./recovery-thread.ts', import.meta.url), {
    // It holds one batch at a time.
    resourceLimits: { maxYoungGenerationSizeMb: 2 },
  })

/**
 * Recovery beside the thread that answers calls. The signatures that come in one turn of its event loop go to the other
 * thread a few in a message. It is started for the first two that come together. It is trusted once it found the signers
 * that were found here. A signature that comes alone is looked at here, which is sooner; so are all where the other
 * thread has not started yet, or has ended.
 *
 * @param start starts the thread; tests put a faulty one in between
 * @throws Error where there is no binary for this platform
 */
export function createThreadedRecovery(
  { report }: Pick<OpenRecoveryOptions, 'report'>,
  start = startThread,
): RecoverSigner {
  const here = createNativeRecovery()
  let waiting: Waiting[] = []
  let thread: Worker | undefined
  let isTrusted = false
  /** Batches with the thread, which answers them in their order. */
  const underWay: (readonly Waiting[])[] = []

  /** Each by itself, so that one cannot fail the others. */
  function lookHere(batch: readonly Waiting[]): void {
    for (const { check, resolve, reject } of batch) {
      try {
        resolve(signerAt(here.signersOf(check), 0))
      } catch (error) {
        reject(error)
      }
    }
  }

  /** It is not started again: what fails once fails again. */
  function giveUp(reason: string): void {
    isTrusted = false
    for (const batch of underWay.splice(0)) lookHere(batch)
    report('signatures are verified on the thread that answers calls', { reason })
  }

  function answer(signers: Uint8Array): void {
    for (const [index, { resolve }] of (underWay.shift() ?? []).entries()) resolve(signerAt(signers, index))
  }

  function begin(first: Uint8Array, expected: Uint8Array): Worker {
    const started = start()
    started.on('message', (found: Uint8Array) => {
      if (isTrusted) answer(found)
      else if (Buffer.compare(found, expected) === 0) isTrusted = true
      else giveUp('the other thread found other signers')
      // It keeps the process from its end while somebody waits for it.
      if (underWay.length === 0) started.unref()
    })
    started.on('error', (error) => giveUp(reasonOf(error)))
    started.postMessage(first)
    return started
  }

  function flush(): void {
    const batch = waiting
    waiting = []
    if (batch.length < 2) return lookHere(batch)
    const checks = new Uint8Array(batch.length * CHECK_BYTES)
    for (const [index, { check }] of batch.entries()) checks.set(check, index * CHECK_BYTES)
    if (isTrusted) {
      underWay.push(batch)
      thread?.ref()
      thread?.postMessage(checks)
    } else {
      lookHere(batch)
      thread ??= begin(checks, here.signersOf(checks))
    }
  }

  return {
    name: 'native',
    async recover(authorization, signature) {
      const check = checkOf(authorization, signature)
      if (check === undefined) return undefined
      const entry = { check, ...Promise.withResolvers<`0x${string}` | undefined>() }
      const count = waiting.push(entry)
      if (count === 1) setImmediate(flush)
      else if (count === MOST_AT_ONCE) flush()
      return entry.promise
    },
  }
}
