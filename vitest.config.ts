import { defineConfig } from 'vitest/config'

const ROOMS = ['contracts', 'projections', 'services', 'bench', 'tools', 'testing', 'clients']
/** These start servers or processes of their own, play long stretches of time, or hold one suite for several adapters. */
const SERVERS = ROOMS.map((room) => `${room}/**/*.{int,e2e,contract}.test.ts`)

export default defineConfig({
  test: {
    testTimeout: 90_000,
    hookTimeout: 30_000,
    pool: 'forks',
    // A past is computed where a test asks for one.
    env: { FRESH: 'true' },
    setupFiles: ['tools/draw-seeds.ts'],
    // By itself the runner leaves one core alone; half of a run waits for servers, so that two of two are not too many.
    maxWorkers: '100%',
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
      { extends: true, test: { name: 'servers', include: SERVERS } },
    ],
  },
})
