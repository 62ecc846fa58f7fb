export type { DescribedModel } from './model-page.ts'
export { type ReferenceSources, referencePages } from './reference-pages.ts'
