import { registerHooks } from 'node:module'

/**
 * Loaded in front of a process of a cluster (`node --import`), it makes it one of the next release: verdicts have a schema
 * version more, which says something that no process of this release knows, and which came with the next format of the
 * log. Everything else is this release's.
 */
const CATALOGUE = '/contracts/event-catalogue.ts'

const CHANGES: readonly (readonly [RegExp, string])[] = [
  [/NEWEST_LOG_FORMAT = 4\b/, 'NEWEST_LOG_FORMAT = 5'],
  [/(type: 'VerdictRecorded',\s+schema: )5,/, `$16,`],
  [
    /(data: )verdictSchema,/,
    `$1verdictSchema.extend({ novelty: z.string().default('of the next release') }),`,
  ],
  [
    /(type: 'VerdictRecorded',[\s\S]*?4: \(data\) => data,)/,
    `$1 5: (data) => ({ ...data, novelty: 'unsaid' }),`,
  ],
  [
    /(formats: \{ 3: 2, 4: 3, 5: 4)( \},\s+downcasters: \{)/,
    '$1, 6: 5$2 6: ({ novelty: _later, ...data }) => data,',
  ],
]

const textOf = (source: unknown): string =>
  typeof source === 'string' ? source : Buffer.from(source as Uint8Array).toString('utf8')

registerHooks({
  load(url, context, nextLoad) {
    const loaded = nextLoad(url, context)
    if (!url.endsWith(CATALOGUE)) return loaded
    const source = CHANGES.reduce((text, [what, by]) => {
      if (!what.test(text)) throw new Error(`the catalogue has nothing like ${what} any more`)
      return text.replace(what, by)
    }, textOf(loaded.source))
    return { ...loaded, source }
  },
})
