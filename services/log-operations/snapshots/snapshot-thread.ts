import { parentPort, workerData } from 'node:worker_threads'
import { sleep } from '../../runtime/async/sleep.ts'
import { reportInvariantsToMainThread } from '../../runtime/async/thread-invariants.ts'
import { openPlace } from '../backup/open-place.ts'
import { type SnapshotOptions, takeSnapshot } from './take-snapshot.ts'

/** A thread takes a snapshot with it. */
export interface ThreadData extends Omit<SnapshotOptions, 'place' | 'now'> {
  readonly address: string
  readonly holder: string
}

if (parentPort === null) throw new Error('snapshot-thread.ts runs as a worker thread')
reportInvariantsToMainThread()
const { address, holder, ...options } = workerData as ThreadData
const unended = new AbortController().signal
const place = openPlace(address, {
  environment: process.env,
  holder,
  now: Date.now,
  sleep: (milliseconds) => sleep(milliseconds, unended),
})
parentPort.postMessage(await takeSnapshot({ ...options, place, now: Date.now }))
