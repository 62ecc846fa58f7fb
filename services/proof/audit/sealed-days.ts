import { hash } from 'node:crypto'
import type { EventOf } from '../../../contracts/event-definition.ts'
import { canonicalJson } from '../../../contracts/json.ts'
import type { DaySealed } from '../../../contracts/proof-events.ts'
import { sealedManifestSchema } from '../../../contracts/sealed-manifest.ts'
import type { Findings } from './finding.ts'

/** Sealed days, with the files that their first manifests name. */
export class SealedDays {
  readonly #findings: Findings
  readonly #files = new Map<string, string>()

  constructor(findings: Findings) {
    this.#findings = findings
  }

  /** A day may be sealed again by a process that did not know of it; its files are the same then. */
  take(index: number, { exchange, day, manifest, sha256 }: EventOf<typeof DaySealed>['data']): void {
    const name = `${exchange} on ${day}`
    const files = sealedFiles(manifest)
    const before = this.#files.get(name) ?? files
    this.#files.set(name, before)
    if (files !== before)
      this.#findings.add('replaced_file', index, `${name} was sealed again, with other files`)
    if (hash('sha256', manifest) !== sha256)
      this.#findings.add('replaced_file', index, `the manifest of ${name} does not hash to what the log says`)
  }
}

/** The files of a manifest as one text; the text itself where it is no manifest. */
function sealedFiles(manifest: string): string {
  const { success, data } = sealedFilesSchema.safeParse(parsedOr(manifest))
  return success ? canonicalJson(data.files) : manifest
}

const sealedFilesSchema = sealedManifestSchema.pick({ files: true })

function parsedOr(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return text
  }
}
