import { defineErrors } from './error-definition.ts'

/** Errors that keep a process from its event store. */
export const STORE_ERRORS = defineErrors({
  store_denied: {
    status: 503,
    exitCode: 15,
    message: 'The event store does not let this service in.',
    nextStep:
      'Correct EVENTSTORE_URL: user and password (percent-encoded), tlsCaFile, the name of the host; the user needs the rights that docs/running.md lists.',
  },
  store_full: {
    status: 503,
    isInner: true,
    exitCode: 6,
    message: 'The disk of the event store is full. Nothing acknowledged was lost; nothing new is accepted.',
    nextStep: 'Free space on the disk of DATA_DIR; writing resumes by itself.',
  },
  store_locked: {
    status: 503,
    isInner: true,
    exitCode: 7,
    message: 'Another process has this store open.',
    nextStep: 'Stop that process, or choose another DATA_DIR.',
  },
  store_mismatch: {
    status: 503,
    isInner: true,
    exitCode: 8,
    message: 'The store belongs to another market or another key, or is not the one that was read before.',
    nextStep:
      'Use the market and key it was begun with, or choose another DATA_DIR. Where the log was restored, start again: the process then reads it anew.',
  },
  log_end_lost: {
    status: 503,
    isInner: true,
    exitCode: 22,
    message: 'The log ends before an event that was durable in it, or its write-ahead log is damaged.',
    nextStep:
      'Restore a backup into an empty folder, or go on without what is lost: `--accept-lost-end` with the position that the message names.',
  },
  log_damaged: {
    status: 503,
    isInner: true,
    exitCode: 24,
    message: 'Bytes of the log are not what was written.',
    nextStep:
      'Run `signal doctor --log`, which names the events. Stop the service, restore a backup into an empty folder (docs/backup.md), start there, and replace the disk.',
  },
  backup_damaged: {
    status: 503,
    exitCode: 19,
    message: 'A part of the backup is missing, or is not what was written.',
    nextStep:
      'Restore from another backup, or up to the position that the message names; take a new backup to a new address.',
  },
  backup_unreachable: {
    status: 503,
    exitCode: 20,
    message: 'The place of the backup cannot be read or written.',
    nextStep:
      'Check the address, the region, the endpoint and the credentials (docs/backup.md), then run the same command again: it goes on where it was.',
  },
})
