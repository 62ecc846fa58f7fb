import type { z } from 'zod'

/** How one setting is given, read and explained. `docs/settings.md` is generated from this. */
export interface SettingDefinition<Schema extends z.ZodType = z.ZodType> {
  readonly flag: string
  readonly schema: Schema
  /** What it does, and its default, for people. */
  readonly help: string
  /** Never shown. */
  readonly isSecret?: boolean
  /** True or false; as a flag it needs no value. */
  readonly isSwitch?: boolean
  /** What to write instead of a value that was refused. */
  readonly example: string
}

/** Keeps the names and the schema of each. */
export const defineSettings = <const Definitions extends Record<string, SettingDefinition>>(
  definitions: Definitions,
) => definitions
