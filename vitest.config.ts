import { defineConfig } from 'vitest/config'

export default defineConfig({
  test: {
    include: [
      'contracts/**/*.test.ts',
      'projections/**/*.test.ts',
      'services/**/*.test.ts',
      'bench/**/*.test.ts',
      'tools/**/*.test.ts',
    ],
    testTimeout: 90_000,
    hookTimeout: 30_000,
    pool: 'forks',
  },
})
