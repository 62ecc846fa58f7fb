import { expect, test } from 'vitest'
import { SETTINGS } from './settings.ts'
import { settingsHelp } from './settings-help.ts'

test('help names every flag and its variable', () => {
  const help = settingsHelp()
  for (const [name, { flag }] of Object.entries(SETTINGS)) expect(help).toContain(`--${flag}  (${name})`)
})
