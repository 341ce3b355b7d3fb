"""The structural probe: trees and what is measured on them, and the probe's training."""
