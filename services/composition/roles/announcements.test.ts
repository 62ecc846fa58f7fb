import { expect, test } from 'vitest'
import { SPOKEN_TIMEFRAMES } from '../../../contracts/spoken-timeframes.ts'
import { TIMEFRAMES } from '../../../contracts/timeframes.ts'
import { readSettings } from '../../runtime/config/read-settings.ts'
import { bannerLines } from './announcements.ts'

test('who starts the engine is told at which timeframes it never makes a call', () => {
  const context = {
    version: '1',
    settings: readSettings([], {}),
    platform: [],
    runsOn: { 'Node.js': '24.15.0', SQLite: '3.51.3' },
    demo: undefined,
    url: undefined,
  }
  const text = bannerLines({ ...context, monitoring: '2 series' }).join('\n')
  expect(text).toContain('\n  on Node.js 24.15.0, SQLite 3.51.3\n')
  const silent = TIMEFRAMES.filter((timeframe) => !SPOKEN_TIMEFRAMES.includes(timeframe))
  expect(text).toContain(`Calls are made at ${SPOKEN_TIMEFRAMES.join(', ')}; at ${silent.join(', ')}`)
  expect(bannerLines({ ...context, monitoring: undefined }).join('\n')).not.toContain('Calls are made')
})
