import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { referencePages } from './reference-pages.ts'

// npm run docs
for (const [name, text] of Object.entries(referencePages())) {
  writeFileSync(join(import.meta.dirname, '../../docs', name), text)
}
