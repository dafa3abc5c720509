# SPDX-License-Identifier: Apache-2.0
"""Allocations and views of torch tensors, with and without a GPU.

Without one, tensors stand in the memory of the host or nowhere (`meta`), and each allocation gets an address of its
own that looks like a GPU's; programs that put addresses into tensors (grouped GEMMs) then work, and the addresses can
be told from other numbers.
"""

import ctypes
import functools

from turnstile_capture import CaptureError, memory

FIRST_ADDRESS = 0x7F40_0000_0000
GAP = 1 << 21  # between allocations, as the driver's granularity


class TorchMemory:
    """`pretend`: addresses are made up and unknown contents are tracked; otherwise tensors are a real GPU's."""

    def __init__(self, torch, pretend):
        from torch.multiprocessing.reductions import StorageWeakRef

        self._torch, self._pretend, self._weak = torch, pretend, StorageWeakRef
        self._storages = {}  # StorageImpl -> (weak reference, address)
        self._next = FIRST_ADDRESS
        self._named = {}  # address of an allocation -> (weak reference, view without its reader)
        self._lowest = 1 << 64  # of these addresses
        self._unknown = {}  # StorageImpl -> weak reference: contents that a kernel wrote, or that nothing set

    def _storage(self, tensor):
        with self._torch._C.DisableTorchFunction():
            return tensor.untyped_storage()

    def _address(self, storage):
        if not self._pretend:
            return storage.data_ptr()
        known = self._storages.get(storage._cdata)
        if known is None or known[0].expired():
            known = (self._weak(storage), self._next)
            self._storages[storage._cdata] = known
            self._unknown.pop(storage._cdata, None)
            self._next += -(-max(1, storage.nbytes()) // GAP) * GAP + GAP
        return known[1]

    def data_ptr(self, tensor):
        view = self.view_of(tensor)
        return view.allocation.address + view.offset

    def view_of(self, value):
        torch = self._torch
        if not isinstance(value, torch.Tensor):
            # triton.reinterpret wraps a tensor under another type
            inner = getattr(value, "base", None)
            if inner is None or not hasattr(value, "dtype"):
                raise CaptureError(f"an argument of the type {type(value).__name__} is not understood")
            view = self.view_of(inner)
            return memory.View(view.allocation, view.offset, memory.element_type(value.dtype, memory.WIDTHS[view.type]),
                               view.shape, view.strides)  # fmt: skip
        storage = self._storage(value)
        with torch._C.DisableTorchFunction():
            width = value.element_size()
            allocation = memory.Allocation(storage._cdata, self._address(storage), storage.nbytes(),
                                           lambda: self._read(storage))  # fmt: skip
            view = memory.View(allocation, value.storage_offset() * width, memory.element_type(value.dtype, width),
                               tuple(value.shape), tuple(value.stride()))  # fmt: skip
        # Kept without the reader, which holds the storage.
        self._lowest = min(self._lowest, allocation.address)
        self._named[allocation.address] = (self._weak(storage), allocation.bytes, view.offset, view.type, view.shape,
                                           view.strides, storage._cdata)  # fmt: skip
        return view

    def view_at(self, address):
        """The tensor whose allocation holds `address`; None if there is none."""
        if address < self._lowest:  # most integers that are looked at are no addresses
            return None
        for base in sorted((b for b in self._named if b <= address), reverse=True)[:4]:
            weak, size, offset, kind, shape, strides, key = self._named[base]
            if address >= base + max(1, size) or weak.expired():
                continue
            allocation = memory.Allocation(key, base, size, functools.partial(self._read_again, weak))
            return memory.View(allocation, offset, kind, shape, strides)
        return None

    def _read_again(self, weak):
        storage = self._torch.UntypedStorage._new_with_weak_ptr(weak.cdata)
        return None if storage is None else self._read(storage)

    def _read(self, storage):
        if storage._cdata in self._unknown or storage.device.type == "meta":
            return None
        if storage.device.type == "cpu":
            return ctypes.string_at(storage.data_ptr(), storage.nbytes()) if storage.nbytes() else b""
        if self._torch.cuda.is_current_stream_capturing():  # a copy would end the capture of the graph
            return None
        copy = storage.cpu()
        return ctypes.string_at(copy.data_ptr(), copy.nbytes()) if copy.nbytes() else b""

    def bytes_of(self, allocation_key_tensor):
        return self._read(self._storage(allocation_key_tensor))

    def kernel_wrote(self, allocations):
        """Without a GPU the kernel did not run: what it would have written is not known from here on."""
        if self._pretend:
            for allocation in allocations:
                known = self._storages.get(allocation.key)
                if known is not None:
                    self._unknown[allocation.key] = known[0]

    def is_unknown(self, tensor):
        storage = self._storage(tensor)
        if storage.device.type == "meta":
            return True
        weak = self._unknown.get(storage._cdata)
        if weak is not None and weak.expired():
            del self._unknown[storage._cdata]
            return False
        return weak is not None

    def mark(self, tensor, unknown):
        storage = self._storage(tensor)
        if unknown:
            self._address(storage)
            self._unknown[storage._cdata] = self._weak(storage)
        else:
            self._unknown.pop(storage._cdata, None)
