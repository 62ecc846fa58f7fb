import { findTestServers } from './find-test-servers.ts'
import { imagesOf } from './server-lines.ts'
import type { ServerKind, TestServers, TestServersOptions } from './test-server.ts'

const NATS: ServerKind = {
  name: 'NATS server',
  urlVariable: 'NATS_URL',
  binary: 'nats-server',
  arguments: ({ port }) => ['-a', '127.0.0.1', '-p', `${port}`],
  image: imagesOf('NATS')[0] ?? '',
  containerCommand: [],
  containerPort: 4222,
  url: (port) => `nats://127.0.0.1:${port}`,
  greeting: '',
  answer: 'INFO ',
}

/** NATS servers for tests. */
export const natsServers = (options: TestServersOptions): Promise<TestServers> =>
  findTestServers(NATS, options)
