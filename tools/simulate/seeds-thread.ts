import { parentPort, workerData } from 'node:worker_threads'
import { PLANTS } from './plants.ts'
import { simulate } from './simulation.ts'

/** A thread that lives one seed after the other through, and tells what each found. */
const { plant } = workerData as { readonly plant: string | undefined }
const seams = PLANTS.find(({ name }) => name === plant)?.seams

parentPort?.on('message', async (seed: number) => {
  const { found } = await simulate(seed, seams)
  parentPort?.postMessage({ seed, found })
})
