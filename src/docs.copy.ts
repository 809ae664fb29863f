import { copyFileSync, mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { ASSET_LICENSES, ASSETS, copiedAssets, packagedAssets } from './http/docs.ts'

// `npm run build` puts what the page at /docs needs beside the compiled code: what is installed from it needs no package.
const folder = copiedAssets()
mkdirSync(folder, { recursive: true })
for (const name of [...ASSETS, ...ASSET_LICENSES]) copyFileSync(join(packagedAssets(), name), join(folder, name))
