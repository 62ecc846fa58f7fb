import { execFile } from 'node:child_process'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { FastifyInstance } from 'fastify'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { useConformancePack } from './testing/conformance/conformance-pack.ts'
import { findSuite } from './testing/conformance/find-suite.ts'
import { createMcpEdge, listen } from './testing/mcp-edge.fixture.ts'

/** The suite takes about 10 s of a revision on a quiet machine. */
const LIMIT_MS = 180_000
const EXPECTED = join(import.meta.dirname, 'testing/conformance/expected-failures-2025-11-25.yml')

const suite = findSuite()
const reason = suite === undefined ? ' (skipped: the conformance suite is not installed)' : ''

describe.skipIf(suite === undefined)(`the official conformance suite${reason}`, () => {
  let app: FastifyInstance
  let url: string
  let folder: string

  beforeAll(async () => {
    folder = mkdtempSync(join(tmpdir(), 'conformance-'))
    app = await createMcpEdge({}, (edge) => useConformancePack(edge, new Uint8Array(32).fill(7)))
    url = await listen(app)
  })
  afterAll(async () => {
    await app.close()
    rmSync(folder, { recursive: true, force: true })
  })

  test.each([
    ['2026-07-28', []],
    ['2025-11-25', ['--expected-failures', EXPECTED]],
  ] as const)(
    'finds nothing wanting of what %s requires',
    { timeout: LIMIT_MS + 5_000 },
    async (revision, flags) => {
      const { code, output } = await run(['--requirements', revision, ...flags])
      expect(code, output).toBe(0)
      // A run that found nothing to check would pass too.
      expect(Number(/Total: (\d+) passed/.exec(output)?.[1]), output).toBeGreaterThan(50)
    },
  )

  test('finds the headers of the stateless revision checked', { timeout: LIMIT_MS + 5_000 }, async () => {
    const { code, output } = await run([
      '--scenario',
      'http-header-validation',
      '--spec-version',
      '2026-07-28',
    ])
    expect(code, output).toBe(0)
  })

  function run(flags: readonly string[]): Promise<{ code: unknown; output: string }> {
    const args = [suite ?? '', 'server', '--url', url, '-o', folder, ...flags]
    return new Promise((resolve) => {
      execFile(
        process.execPath,
        args,
        { cwd: folder, timeout: LIMIT_MS, maxBuffer: 64 * 1_048_576 },
        (error, stdout, stderr) =>
          resolve({ code: error === null ? 0 : (error.code ?? error), output: stdout + stderr }),
      )
    })
  }
})
