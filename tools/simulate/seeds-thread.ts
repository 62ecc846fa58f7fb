import { parentPort, workerData } from 'node:worker_threads'
import { PLANTS } from './plants.ts'
import { simulate } from './simulation.ts'

/** A thread that lives one seed after the other through, and tells what each found. */
const { plant } = workerData as { readonly plant: string | undefined }
const seams = PLANTS.find(({ name }) => name === plant)?.seams

async function live(seed: number): Promise<void> {
  const { found } = await simulate(seed, seams)
  parentPort?.postMessage({ seed, found })
}

// What breaks it ends the thread, and whoever asked hears of it.
parentPort?.on('message', (seed: number) => void live(seed))
