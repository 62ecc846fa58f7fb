import { expect, test } from 'vitest'
import { CALLING_TIMEFRAMES, TIMEFRAMES } from '../../../contracts/domain/timeframes.ts'
import { readSettings } from '../../runtime/config/read-settings.ts'
import { bannerLines } from './announcements.ts'

test('who starts the engine is told at which timeframes it never makes a call', () => {
  const context = {
    version: '1',
    settings: readSettings([], {}),
    platform: [],
    runsOn: { 'Node.js': '24.15.0', SQLite: '3.51.3' },
    url: undefined,
  }
  const lines = bannerLines({ ...context, url: 'http://127.0.0.1:8402', monitoring: '2 series' })
  expect(lines.filter((line) => line.length > 80)).toEqual([])
  const text = lines.join(' ').replaceAll(/\s+/g, ' ')
  expect(text).toContain('Node.js 24.15.0, SQLite 3.51.3')
  const silent = TIMEFRAMES.filter((timeframe) => !CALLING_TIMEFRAMES.includes(timeframe))
  expect(text).toContain(`Calls are made at ${CALLING_TIMEFRAMES.join(', ')}; at ${silent.join(', ')}`)
  expect(bannerLines({ ...context, monitoring: undefined }).join('\n')).not.toContain('Calls are made')
})
