import type { FlagDefinition } from './read-flags.ts'

/** How one setting is given, read and explained. `docs/settings.md` is generated from this. */
export interface SettingDefinition extends FlagDefinition {
  readonly flag: string
}

/** Keeps the names and the schema of each. */
export const defineSettings = <const Definitions extends Record<string, SettingDefinition>>(
  definitions: Definitions,
) => definitions
