import type { DocPage } from './pages.ts'

/** The pages of the documentation by who reads them, in the order in which they are useful. */
const READERS: Readonly<Record<string, string>> = {
  'For everybody': 'faq verdicts limits-of-the-service prices privacy search-and-chat discovery',
  'For callers': 'api tools mcp bots accounts oauth quotas paying errors',
  'For subscribers': 'webhooks webhook-receivers',
  'For analysts':
    'track-record replay verify proof indicators-and-regimes funding model events benchmarks commands',
  'For operators':
    'running settings market-data live-venues payments-operator scaling reliability backup archiving upgrading runbook threats',
}

/** Pages by their readers; those that nobody has sorted come last, so that none is missing. */
export function pagesByReader(
  pages: readonly DocPage[],
): { readonly reader: string; readonly pages: readonly DocPage[] }[] {
  const groups = Object.entries(READERS).map(([reader, names]) => ({
    reader,
    pages: names.split(' ').flatMap((name) => pages.find((page) => page.name === name) ?? []),
  }))
  const rest = pages.filter((page) => !groups.some((group) => group.pages.includes(page)))
  return [...groups, { reader: 'More', pages: rest }].filter((group) => group.pages.length > 0)
}
