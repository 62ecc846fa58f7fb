import { spawnSync } from 'node:child_process'
import { existsSync, openSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test, vi } from 'vitest'
import { ServiceError } from '../../../contracts/errors/errors.ts'
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

  test('tells of an error what it says and where, its causes and parts too, and nothing that hangs on it', () => {
    const lines: string[] = []
    const log = createLog('info', { write: (line) => void lines.push(line) })
    const hung = { response: 'hunter2', config: { headers: { authorization: 'hunter2' } } }
    const cause = Object.assign(new Error('the line is cut'), hung)
    const error = Object.assign(new TypeError('no answer', { cause }), { ...hung, code: 'EPIPE' })
    log.warn({ err: error }, 'bus')
    log.warn({ err: new AggregateError([error], 'of two') }, 'bus')
    log.warn({ err: 'no error' }, 'bus')
    expect(lines.join('')).not.toContain('hunter2')
    expect(JSON.parse(lines[0] ?? '')).toMatchObject({
      err: {
        type: 'TypeError',
        code: 'EPIPE',
        message: 'no answer: the line is cut',
        stack: expect.any(String),
      },
    })
    expect(JSON.parse(lines[1] ?? '')).toMatchObject({
      err: { message: 'of two', errors: [{ code: 'EPIPE' }] },
    })
    expect(JSON.parse(lines[2] ?? '')).toMatchObject({ err: 'no error' })
  })

  test('warns of a store that does not answer once in ten seconds, whoever meets it', () => {
    const lines: string[] = []
    const log = createLog('info', {
      write: (line) => void lines.push((JSON.parse(line) as { msg: string }).msg),
    })
    const clock = vi.spyOn(performance, 'now').mockReturnValue(0)
    const away = new ServiceError('store_unavailable')
    for (const part of ['leases', 'webhooks', 'leases']) log.warn({ err: away }, part)
    log.error({ err: away }, 'an error')
    log.warn({ err: new ServiceError('log_damaged') }, 'another cause')
    clock.mockReturnValue(10_000)
    log.warn({ err: away }, 'leases again')
    clock.mockRestore()
    expect(lines).toEqual(['leases', 'an error', 'another cause', 'leases again'])
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
