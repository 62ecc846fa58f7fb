import { parentPort } from 'node:worker_threads'
import { createNativeRecovery } from './native-recovery.ts'

/** The thread of {@link createThreadedRecovery}: finds the signers of one message in one answer. */
const port = parentPort
if (port === null) throw new Error('recovery-thread.ts runs as a worker thread')
const { signersOf } = createNativeRecovery()
port.on('message', (checks: Uint8Array) => port.postMessage(signersOf(checks)))
