import { spawnSync } from 'node:child_process'
import { existsSync, openSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { createLog } from './log.ts'

describe('the log', () => {
  test('is JSON lines with time and level, without what is secret, at any depth that is logged', () => {
    const lines: string[] = []
    const log = createLog('info', { write: (line) => void lines.push(line) })
    log.info(
      {
        authorization: 'Bearer hunter2',
        'x-payment': 'hunter2',
        request: { headers: { authorization: 'hunter2', 'payment-signature': 'hunter2' } },
        account: { key: 'hunter2', secret: 'hunter2', name: 'Ada' },
      },
      'seen',
    )
    log.debug('not this')
    expect(lines).toHaveLength(1)
    expect(lines[0]).not.toContain('hunter2')
    expect(JSON.parse(lines[0] ?? '')).toMatchObject({
      level: 'info',
      time: expect.stringMatching(/^\d{4}-\d\d-\d\dT/),
      msg: 'seen',
      account: { name: 'Ada', key: '(not shown)' },
    })
  })

  const hasFullDevice = existsSync('/dev/full')
  test.skipIf(!hasFullDevice)(
    `does not hold the process up where it cannot be written${hasFullDevice ? '' : ' (skipped: no /dev/full here)'}`,
    () => {
      const script = `const { createLog } = await import(${JSON.stringify(join(import.meta.dirname, 'log.ts'))})
      const log = createLog('info')
      for (let n = 0; n < 5; n++) log.warn('lost')
      setTimeout(() => process.exit(7), 50)`
      const full = openSync('/dev/full', 'w')
      const { status } = spawnSync(process.execPath, ['--input-type=module', '-e', script], {
        stdio: ['ignore', 'ignore', full],
        timeout: 10_000,
      })
      expect(status).toBe(7)
    },
  )
})
