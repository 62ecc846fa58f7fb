import type { Settings } from '../../runtime/config/settings.ts'

/** Names of this service, which is no place to send to or to fetch from. */
export const ownHosts = ({ HOST, PUBLIC_URL }: Pick<Settings, 'HOST' | 'PUBLIC_URL'>): string[] => [
  HOST,
  ...(PUBLIC_URL === undefined ? [] : [new URL(PUBLIC_URL).hostname]),
]
