import type { FlagDefinition } from './read-flags.ts'

/** How one setting is given, read and explained. `docs/settings.md` is generated from this. */
export interface SettingDefinition extends FlagDefinition {
  /** Its flag, where that is not its name in lower case with hyphens. */
  readonly flag?: string
}

/** Gives each setting its flag, and keeps the names and schemas. */
export const defineSettings = <const Definitions extends Record<string, SettingDefinition>>(
  definitions: Definitions,
) =>
  Object.fromEntries(
    Object.entries(definitions).map(([name, definition]) => [
      name,
      { flag: name.toLowerCase().replaceAll('_', '-'), ...definition },
    ]),
  ) as { readonly [Name in keyof Definitions]: Definitions[Name] & { readonly flag: string } }
