import { join } from 'node:path'
import { answers, run } from './run.ts'

export const IMAGE = 'ghcr.io/tierway/tierway'

/** The program that can build images here. The command line of Docker may be installed without its service. */
export function findBuilder(): 'docker' | 'buildah' | undefined {
  if (answers('docker', 'info')) return 'docker'
  return answers('buildah', '--version') ? 'buildah' : undefined
}

/** Builds the image, and saves it as a file that `docker load` reads. */
export function packImage(builder: 'docker' | 'buildah', copy: string, version: string, to: string): void {
  const image = `${IMAGE}:${version}`
  const file = join(to, `tierway-image-${version}.tar`)
  const args = {
    VERSION: version,
    REVISION: run(copy, 'git', 'rev-parse', 'HEAD'),
    SOURCE: 'https://github.com/tierway/tierway',
  }
  const given = Object.entries(args).flatMap(([name, value]) => ['--build-arg', `${name}=${value}`])
  run(copy, builder, 'build', ...given, '--tag', image, '.')
  if (builder === 'docker') run(copy, 'docker', 'save', '--output', file, image)
  else run(copy, 'buildah', 'push', image, `docker-archive:${file}:${image}`)
}
