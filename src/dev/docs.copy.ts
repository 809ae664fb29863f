import { copyFileSync, mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { ASSET_LICENSES, ASSETS, copiedAssets, packagedAssets } from '../serve/http/docs.ts'

// `npm run build` copies the files of the page at /docs next to the compiled code: an installation does not need their
// package.
const folder = copiedAssets()
mkdirSync(folder, { recursive: true })
for (const name of [...ASSETS, ...ASSET_LICENSES]) copyFileSync(join(packagedAssets(), name), join(folder, name))
