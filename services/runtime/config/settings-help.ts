import { SETTINGS, type SettingName } from './settings.ts'

/** Every setting, for people at a terminal: its flag, its variable and what it does. */
export function settingsHelp(): string {
  const names = Object.keys(SETTINGS) as SettingName[]
  const entries = names.map((name) => `  --${SETTINGS[name].flag}  (${name})\n      ${SETTINGS[name].help}`)
  return ['Usage: npm start -- [flags]; a flag wins over its environment variable.', '', ...entries, ''].join(
    '\n',
  )
}
