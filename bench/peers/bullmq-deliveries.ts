import { Pool } from 'undici'

interface Job {
  readonly data: { readonly body: string }
}

/** The used part of BullMQ. */
interface BullMq {
  readonly Queue: new (
    name: string,
    options: object,
  ) => {
    addBulk(jobs: readonly object[]): Promise<unknown>
    close(): Promise<void>
    obliterate(options: object): Promise<void>
  }
  readonly Worker: new (
    name: string,
    work: (job: Job) => Promise<void>,
    options: object,
  ) => {
    on(event: 'completed', listener: () => void): void
    run(): Promise<void>
    close(): Promise<void>
  }
}

// Not a dependency of the service, so its types are not there either.
const peer = 'bullmq'
const { Queue, Worker } = (await import(peer)) as BullMq
/** Deliveries through BullMQ: a job for each, taken by one worker that POSTs it. Prints `{units, milliseconds}`. */
const [redisUrl = '', target = '', deliveries = '0', inFlight = '64'] = process.argv.slice(2)
const { hostname: host, port } = new URL(redisUrl)
const connection = { host, port: Number(port) }
const { origin, pathname: path } = new URL(target)
const pool = new Pool(origin, { connections: Number(inFlight) })
const body = 'x'.repeat(804)
const name = `deliveries-${process.pid}`

const queue = new Queue(name, { connection })
let done = 0
const all = Promise.withResolvers<void>()
const worker = new Worker(
  name,
  async (job) => {
    const response = await pool.request({ method: 'POST', path, body: job.data.body })
    await response.body.dump()
  },
  { connection, concurrency: Number(inFlight), autorun: false },
)
worker.on('completed', () => {
  done += 1
  if (done === Number(deliveries)) all.resolve()
})
const start = performance.now()
const running = worker.run()
const options = { removeOnComplete: true, attempts: 10 }
for (let n = 0; n < Number(deliveries); n += 500) {
  await queue.addBulk(Array.from({ length: 500 }, () => ({ name: 'post', data: { body }, opts: options })))
}
await all.promise
const milliseconds = performance.now() - start
await worker.close()
await running
await queue.obliterate({ force: true })
await queue.close()
await pool.close()
process.stdout.write(JSON.stringify({ units: Number(deliveries), milliseconds }))
