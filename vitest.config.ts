import { availableParallelism, tmpdir } from 'node:os'
import { join } from 'node:path'
import { defineConfig } from 'vitest/config'
import { SOUND_COMPILER } from './services/own-node.js'

const ROOMS = ['contracts', 'projections', 'services', 'bench', 'tools', 'testing', 'clients']
/** These start servers or processes of their own, play long stretches of time, or hold one suite for several adapters. */
const SERVERS = ROOMS.map((room) => `${room}/**/*.{int,e2e,contract}.test.ts`)

export default defineConfig({
  test: {
    testTimeout: 90_000,
    hookTimeout: 30_000,
    pool: 'forks',
    execArgv: [SOUND_COMPILER],
    // Node.js reads TypeScript by itself: nothing is transformed, and tests run the code that ships.
    experimental: { viteModuleRunner: false },
    setupFiles: ['tools/draw-seeds.ts'],
    // By itself the runner leaves one core alone.
    maxWorkers: availableParallelism(),
    // Processes that a test starts share compiled modules, as those of `npm start` do.
    // A market's past is computed where a test asks for one.
    env: {
      FRESH: 'true',
      NODE_COMPILE_CACHE: process.env.NODE_COMPILE_CACHE ?? join(tmpdir(), 'node-compile-cache'),
    },
    projects: [
      {
        extends: true,
        test: {
          name: 'unit',
          include: ROOMS.map((room) => `${room}/**/*.test.ts`),
          exclude: SERVERS,
          // They change nothing that others see, and loading the same modules again for each file would take longer than the tests.
          isolate: false,
        },
      },
      {
        extends: true,
        test: {
          name: 'servers',
          include: SERVERS,
          // More of them than there are cores: more than half of their time they wait for a process or a clock.
          maxWorkers: availableParallelism() + 2,
          sequence: { groupOrder: 1 },
        },
      },
    ],
  },
})
