import { findTestServers } from './find-test-servers.ts'
import { imagesOf } from './server-lines.ts'
import type { ServerKind, TestServers, TestServersOptions } from './test-server.ts'

const REDIS: ServerKind = {
  name: 'Redis server',
  urlVariable: 'REDIS_URL',
  binary: 'redis-server',
  arguments: ({ port, dataDirectory }) =>
    [
      ['--port', `${port}`],
      ['--bind', '127.0.0.1'],
      ['--dir', dataDirectory],
      ['--save', ''],
      ['--appendonly', 'no'],
    ].flat(),
  image: imagesOf('Redis')[0] ?? '',
  containerCommand: ['redis-server', '--save', '', '--appendonly', 'no'],
  containerPort: 6379,
  url: (port) => `redis://127.0.0.1:${port}`,
  greeting: 'PING\r\n',
  answer: '+PONG',
}

/** Redis servers for tests; they persist nothing, so what a kill takes is gone. */
export const redisServers = (options: TestServersOptions): Promise<TestServers> =>
  findTestServers(REDIS, options)
